<?php
// Monitoring: the schema, images and data of the server's package, then hosts, items, triggers,
// history and searches by the API of its web pages.
$root = getenv('APPLICATION_ROOT');
$pages = "$root/usr/share/zabbix";
if ($argv[1] === 'version') {
    preg_match(
        "/ZABBIX_VERSION',\s*'([^']+)'/",
        file_get_contents("$pages/include/defines.inc.php"),
        $found,
    );
    echo "Zabbix $found[1]\n";
    exit(0);
}
$client = [
    'mariadb',
    '--skip-ssl',
    '--host=' . getenv('DB_HOST'),
    '--port=' . getenv('DB_PORT'),
    '--user=' . getenv('DB_USER'),
    '--password=' . getenv('DB_PASSWORD'),
];
function load(array $args, string $text): void
{
    global $client;
    $done = proc_open(
        [...$client, ...$args],
        [['pipe', 'r'], ['file', 'php://stdout', 'w'], ['file', 'php://stderr', 'w']],
        $pipes,
    );
    fwrite($pipes[0], $text);
    fclose($pipes[0]);
    if (proc_close($done) !== 0) {
        exit(1);
    }
}
$name = getenv('DB_NAME');
if ($argv[1] === 'migrate') {
    load([], "ALTER DATABASE $name CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    foreach (['schema', 'images', 'data'] as $file) {
        load(
            ['--default-character-set=utf8mb4', $name],
            implode('', gzfile("$root/usr/share/zabbix-server-mysql/$file.sql.gz")),
        );
    }
    exit(0);
}
// What the pages ask of a database that older versions made.
load([$name], implode('', gzfile("$root/usr/share/zabbix-server-mysql/history_pk_prepare.sql.gz")));
$folder = getenv('APPLICATION_FOLDER');
// Debian's package has it in /etc.
$class = "$pages/include/classes/core/CConfigFile.php";
file_put_contents(
    $class,
    str_replace(
        "'/etc/zabbix/zabbix.conf.php'",
        "'$pages/conf/zabbix.conf.php'",
        file_get_contents($class),
    ),
);
file_put_contents(
    "$pages/conf/zabbix.conf.php",
    <<<'CONFIG'
    <?php
    $DB = ['TYPE' => 'MYSQL', 'SERVER' => getenv('DB_HOST'), 'PORT' => getenv('DB_PORT'), 'DATABASE' => getenv('DB_NAME'), 'USER' => getenv('DB_USER'),
        'PASSWORD' => getenv('DB_PASSWORD'), 'SCHEMA' => '', 'ENCRYPTION' => false, 'DOUBLE_IEEE754' => true];
    $IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;
    CONFIG
    ,
);
$socket = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) explode(':', stream_socket_get_name($socket, false))[1];
fclose($socket);
$web = proc_open(
    [
        'php',
        '-d',
        'error_reporting=0',
        '-d',
        'display_errors=0',
        '-d',
        'max_execution_time=300',
        '-S',
        "127.0.0.1:$port",
        '-t',
        $pages,
    ],
    [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', "$folder/web.log", 'w']],
    $pipes,
);
register_shutdown_function(fn() => proc_terminate($web));
for ($tries = 0; $tries < 100 && !@fsockopen('127.0.0.1', $port); $tries++) {
    usleep(100000);
}
$token = null;
function ask(string $method, array $params)
{
    global $port, $token;
    $body = json_encode(
        [
            'jsonrpc' => '2.0',
            'method' => $method,
            'params' => $params ?: new stdClass(),
            'id' => 1,
        ] + ($token ? ['auth' => $token] : []),
    );
    $said = file_get_contents(
        "http://127.0.0.1:$port/api_jsonrpc.php",
        false,
        stream_context_create([
            'http' => [
                'method' => 'POST',
                'header' => 'Content-Type: application/json-rpc',
                'content' => $body,
                'ignore_errors' => true,
            ],
        ]),
    );
    $answer = json_decode($said, true);
    if (!isset($answer['result'])) {
        fwrite(STDERR, "$method: $said\n");
        exit(1);
    }
    return $answer['result'];
}
$token = ask('user.login', ['user' => 'Admin', 'password' => 'zabbix']);
$group = ask('hostgroup.create', ['name' => 'Forest'])['groupids'][0];
for ($n = 0; $n < 5; $n++) {
    $host = ask('host.create', [
        'host' => "tree$n",
        'groups' => [['groupid' => $group]],
        'interfaces' => [
            [
                'type' => 1,
                'main' => 1,
                'useip' => 1,
                'ip' => '127.0.0.1',
                'dns' => '',
                'port' => '10050',
            ],
        ],
        'tags' => [['tag' => 'kind', 'value' => $n % 2 ? 'oak' : 'ash']],
        'macros' => [['macro' => '{$LIMIT}', 'value' => "$n"]],
    ])['hostids'][0];
    $face = ask('hostinterface.get', ['hostids' => $host])[0]['interfaceid'];
    $item = ask('item.create', [
        'name' => 'height',
        'key_' => 'height',
        'hostid' => $host,
        'interfaceid' => $face,
        'type' => 0,
        'value_type' => 0,
        'delay' => '30s',
    ])['itemids'][0];
    ask('trigger.create', [
        'description' => 'too high',
        'expression' => "last(/tree$n/height)>100",
        'priority' => 3,
    ]);
    load(
        [$name],
        "INSERT INTO history (itemid, clock, value, ns) VALUES ($item, 1767225600, 1.5, 0), ($item, 1767225630, 2.5, 0)",
    );
}
$template = ask('template.get', [
    'filter' => ['host' => 'Linux by Zabbix agent'],
    'output' => ['templateid', 'host'],
])[0];
ask('host.update', ['hostid' => $host, 'templates' => [['templateid' => $template['templateid']]]]);
echo 'items by template: ', ask('item.get', ['hostids' => $host, 'countOutput' => true]), "\n";
echo 'hosts by tag: ',
    implode(
        ',',
        array_column(
            ask('host.get', [
                'tags' => [['tag' => 'kind', 'value' => 'oak', 'operator' => 1]],
                'sortfield' => 'host',
                'output' => ['host'],
            ]),
            'host',
        ),
    ),
    "\n";
echo 'search: ',
    count(
        ask('item.get', ['search' => ['name' => 'CPU'], 'hostids' => $host, 'output' => ['name']]),
    ),
    "\n";
echo 'history: ',
    json_encode(
        array_column(
            ask('history.get', [
                'history' => 0,
                'itemids' => $item,
                'sortfield' => 'clock',
                'output' => 'extend',
            ]),
            'value',
        ),
    ),
    "\n";
echo 'triggers: ',
    ask('trigger.get', ['groupids' => $group, 'countOutput' => true, 'min_severity' => 3]),
    "\n";
echo 'export: ',
    str_contains(
        ask('configuration.export', ['options' => ['hosts' => [$host]], 'format' => 'json']),
        'tree4',
    )
        ? 'there'
        : 'empty',
    "\n";
ask('host.update', [
    'hostid' => $host,
    'templates_clear' => [['templateid' => $template['templateid']]],
]);
ask('user.create', [
    'username' => 'reader',
    'passwd' => 'long and secret 1',
    'roleid' => '1',
    'usrgrps' => [['usrgrpid' => '7']],
]);
ask('host.delete', [$host]);
echo 'hosts left: ',
    ask('host.get', ['groupids' => $group, 'countOutput' => true]),
    ' ',
    ask('item.get', ['groupids' => $group, 'countOutput' => true]),
    "\n";
echo 'audit: ', ask('auditlog.get', ['countOutput' => true]) > 10 ? 'written' : 'missing', "\n";
