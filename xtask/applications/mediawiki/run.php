<?php
// A wiki: its schema as its installer makes it, then pages, edits, categories, searches and
// deletes by its maintenance programs and its HTTP API.
$root = getenv('APPLICATION_ROOT') . '/usr/share/mediawiki';
if ($argv[1] === 'version') {
    preg_match(
        "/MW_VERSION', '([^']+)'/",
        file_get_contents($root . '/includes/Defines.php'),
        $found,
    );
    echo "MediaWiki $found[1]\n";
    exit(0);
}
$folder = getenv('APPLICATION_FOLDER');
$settings = "$folder/LocalSettings.php";
function maintain(string $program, array $args, string $input = ''): string
{
    global $root, $folder;
    $done = proc_open(
        ['php', "$root/maintenance/$program", ...$args],
        [['pipe', 'r'], ['pipe', 'w'], ['file', 'php://stderr', 'w']],
        $pipes,
        $folder,
    );
    fwrite($pipes[0], $input);
    fclose($pipes[0]);
    $said = stream_get_contents($pipes[1]);
    fwrite(STDERR, $said);
    if (proc_close($done) !== 0) {
        fwrite(STDERR, "$program failed: " . substr(trim($said), -400) . "\n");
        exit(1);
    }
    return $said;
}
if ($argv[1] === 'migrate') {
    maintain('install.php', [
        '--dbtype=mysql',
        '--dbserver=' . getenv('DB_HOST') . ':' . getenv('DB_PORT'),
        '--dbname=' . getenv('DB_NAME'),
        '--dbuser=' . getenv('DB_USER'),
        '--dbpass=' . getenv('DB_PASSWORD'),
        '--server=http://localhost',
        '--scriptpath=',
        "--confpath=$folder",
        '--pass=correct horse battery',
        'Trees',
        'Admin',
    ]);
    exit(0);
}
for ($n = 0; $n < 10; $n++) {
    maintain(
        'edit.php',
        ["--conf=$settings", '--user=Admin', '--summary=first', "Tree $n"],
        "About '''tree''' $n. [[Tree " . ($n + 1) % 10 . ']] [[Category:Oaks]]',
    );
}
maintain(
    'edit.php',
    ["--conf=$settings", '--user=Admin', '--summary=second', 'Tree 3'],
    'Changed.',
);
maintain('runJobs.php', ["--conf=$settings"]);
maintain('rebuildtextindex.php', ["--conf=$settings"]);
maintain('refreshLinks.php', ["--conf=$settings"]);
maintain('initSiteStats.php', ["--conf=$settings", '--update']);
maintain('createAndPromote.php', ["--conf=$settings", 'Second', 'another long password']);
maintain('update.php', ["--conf=$settings", '--quick']);
echo 'statistics: ',
    preg_replace('/\s+/', ' ', maintain('showSiteStats.php', ["--conf=$settings"])),
    "\n";
echo 'text: ', maintain('getText.php', ["--conf=$settings", 'Tree 3']), "\n";
maintain('deleteBatch.php', ["--conf=$settings"], "Tree 4\n");
echo 'dump: ',
    substr_count(
        maintain('dumpBackup.php', ["--conf=$settings", '--full', '--quiet']),
        '<revision>',
    ),
    " revisions\n";
