<?php
// Webmail: its schema; users, contacts, searches, the cache and deletes by its classes.
$root = getenv('APPLICATION_ROOT') . '/usr/share/roundcube/';
if ($argv[1] === 'version') {
    preg_match(
        "/RCMAIL_VERSION', *'([^']+)'/",
        file_get_contents($root . 'program/include/iniset.php'),
        $found,
    );
    echo "Roundcube $found[1]\n";
    exit(0);
}
$php = getenv('APPLICATION_ROOT') . '/usr/share/php';
set_include_path("$php:" . get_include_path());
error_reporting(E_ALL & ~E_DEPRECATED & ~E_NOTICE & ~E_WARNING);
define('INSTALL_PATH', $root);
define('RCUBE_INSTALL_PATH', $root);
define('RCUBE_CONFIG_DIR', getenv('APPLICATION_FOLDER') . '/');
define('RCUBE_LOCALIZATION_DIR', $root . 'program/localization/');
$dsn = sprintf(
    'mysql://%s:%s@%s:%s/%s',
    getenv('DB_USER'),
    getenv('DB_PASSWORD'),
    getenv('DB_HOST'),
    getenv('DB_PORT'),
    getenv('DB_NAME'),
);
file_put_contents(
    RCUBE_CONFIG_DIR . 'config.inc.php',
    '<?php $config = ["db_dsnw" => ' .
        var_export($dsn, true) .
        ', "log_driver" => "stdout", "des_key" => "rcmail-!24ByteDESkey*Str", "db_prefix" => ""];',
);
copy(
    getenv('APPLICATION_ROOT') . '/etc/roundcube/defaults.inc.php',
    RCUBE_CONFIG_DIR . 'defaults.inc.php',
);
require $root . 'program/lib/Roundcube/bootstrap.php';
$rcube = rcube::get_instance();
$db = rcube_db::factory($dsn);
$db->set_debug(false);
$db->db_connect('w');
function fail(string $why)
{
    fwrite(STDERR, $why . "\n");
    exit(1);
}
function load(string $file)
{
    global $db;
    if (!$db->exec_script(file_get_contents($file))) {
        fail(basename($file) . ': ' . $db->is_error());
    }
}
if ($argv[1] === 'migrate') {
    load($root . 'SQL/mysql.initial.sql');
    exit(0);
}
$rcube->db = $db;
$users = [];
for ($n = 0; $n < 5; $n++) {
    $db->query(
        'INSERT INTO ' .
            $db->table_name('users', true) .
            ' (`created`, `last_login`, `username`, `mail_host`, `language`) VALUES (' .
            $db->now() .
            ', ' .
            $db->now() .
            ', ?, ?, ?)',
        "user$n",
        'localhost',
        'en_US',
    );
    $users[] = $db->insert_id('users');
    $db->is_error() && fail($db->is_error());
}
$user = rcube_user::query('user3', 'localhost');
$rcube->set_user($user);
$user->save_prefs(['skin' => 'elastic', 'page' => 40]);
$user->insert_identity(['name' => 'A Reader', 'email' => 'reader@example.com', 'standard' => 1]);
$user->insert_identity(['name' => 'Second', 'email' => 'second@example.com']);
echo 'identities: ',
    implode(',', array_column($user->list_identities(), 'email')),
    ' ',
    json_encode($user->get_prefs()['page']),
    "\n";
$book = new rcube_contacts($db, $user->ID);
$ids = [];
for ($n = 0; $n < 60; $n++) {
    $ids[] = $book->insert([
        'name' => "Contact $n \u{1F333}",
        'email' => ["c$n@example.com"],
        'firstname' => "C$n",
        'surname' => 'S' . $n % 4,
    ]);
}
$group = $book->create_group('Friends');
$book->add_to_group($group['id'], array_slice($ids, 0, 10));
$found = $book->search(['name', 'email'], 'c5', 0, true, true);
echo 'search: ', $found->count, ' ', $found->records[0]['name'] ?? '-', "\n";
$book->reset();
$book->set_group($group['id']);
echo 'group: ', $book->list_records()->count, ' groups ', count($book->list_groups()), "\n";
$book->reset();
$book->set_group(0);
$book->update($ids[0], ['name' => 'Renamed', 'email' => ['new@example.com']]);
$book->delete(array_slice($ids, 1, 20));
$book->undelete([$ids[1]]);
$book->set_page(1);
echo 'contacts: ', $book->count()->count, ' ', $book->get_record($ids[0], true)['name'], "\n";
$cache = $rcube->get_cache('trees', 'db', 3600);
$cache->set('key', ['a' => str_repeat('x', 100000)]);
$cache->close();
$row = $db->fetch_assoc(
    $db->query(
        'SELECT COUNT(*) n, MAX(LENGTH(data)) > 100 l FROM ' . $db->table_name('cache', true),
    ),
);
echo 'cache: ', json_encode($row), "\n";
foreach ($db->list_tables() as $table) {
    $columns[] = count($db->list_cols($table));
}
echo 'tables: ', implode(',', $columns), "\n";
$db->query('DELETE FROM ' . $db->table_name('users', true) . ' WHERE `username` = ?', 'user3');
echo 'after deleting the user: ',
    json_encode(
        $db->fetch_assoc(
            $db->query(
                'SELECT (SELECT COUNT(*) FROM contacts) c, (SELECT COUNT(*) FROM identities) i, (SELECT COUNT(*) FROM contactgroupmembers) m',
            ),
        ),
    ),
    "\n";

// Updates of older schemas over the newest one: what they change is there, and most are repeated.
$tables = $db->list_tables();
$db->query('SET foreign_key_checks = 0');
foreach ($tables as $table) {
    $db->query('DROP TABLE ' . $db->quote_identifier($table));
}
$db->query('SET foreign_key_checks = 1');
load($root . 'SQL/mysql.initial.sql');
$updates = glob($root . 'SQL/mysql/20[12]*.sql');
$fails = 0;
foreach (array_slice($updates, -12) as $update) {
    foreach (
        array_filter(
            array_map(
                'trim',
                explode(";\n", preg_replace('/^--.*$/m', '', file_get_contents($update)) . "\n"),
            ),
        )
        as $statement
    ) {
        $db->query(rtrim($statement, ';'));
        $fails += $db->is_error() ? 1 : 0;
    }
}
echo 'updates over the newest schema: ', $fails, " refused\n";
