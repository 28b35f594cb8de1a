<?php
// Graphs of a network: the schema and data of its package, then devices, trees, data sources and
// users by its programs.
$root = getenv('APPLICATION_ROOT') . '/usr/share/cacti';
$version = trim(@file_get_contents("$root/site/include/cacti_version") ?: '');
if ($argv[1] === 'version') {
    echo "Cacti $version\n";
    exit(0);
}
$name = getenv('DB_NAME');
$client = [
    'mariadb',
    '--skip-ssl',
    '--host=' . getenv('DB_HOST'),
    '--port=' . getenv('DB_PORT'),
    '--user=' . getenv('DB_USER'),
    '--password=' . getenv('DB_PASSWORD'),
    '--batch',
    '--skip-column-names',
];
function run(array $command, string $input = ''): string
{
    $done = proc_open(
        $command,
        [['pipe', 'r'], ['pipe', 'w'], ['file', 'php://stderr', 'w']],
        $pipes,
    );
    fwrite($pipes[0], $input);
    fclose($pipes[0]);
    $said = stream_get_contents($pipes[1]);
    fwrite(STDERR, $said);
    if (proc_close($done) !== 0) {
        fwrite(
            STDERR,
            basename($command[0]) .
                ' ' .
                basename($command[1]) .
                ' failed: ' .
                substr(trim($said), -300) .
                "\n",
        );
        exit(1);
    }
    return $said;
}
function cacti(string $program, string ...$args): string
{
    global $root;
    return run([
        'php',
        '-d',
        'display_errors=stderr',
        '-d',
        'memory_limit=-1',
        "$root/cli/$program",
        ...$args,
    ]);
}
if ($argv[1] === 'migrate') {
    run(
        [...$client, $name],
        "ALTER DATABASE $name CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
    );
    run(
        [...$client, $name],
        str_replace(
            'NO_AUTO_CREATE_USER,',
            '',
            file_get_contents("$root/conf_templates/cacti.sql"),
        ),
    );
    run(
        [...$client, $name],
        "UPDATE version SET cacti = '$version'; REPLACE INTO settings VALUES ('path_cactilog', '" .
            getenv('APPLICATION_FOLDER') .
            "/cacti.log')",
    );
    touch(getenv('APPLICATION_FOLDER') . '/cacti.log');
    @unlink("$root/site/include/config.php");
    file_put_contents(
        "$root/site/include/config.php",
        <<<'CONFIG'
        <?php
        $database_type = 'mysql';
        $database_default = getenv('DB_NAME');
        $database_hostname = getenv('DB_HOST');
        $database_username = getenv('DB_USER');
        $database_password = getenv('DB_PASSWORD');
        $database_port = getenv('DB_PORT');
        $database_retries = 2;
        $database_ssl = false;
        $database_persist = false;
        $poller_id = 1;
        $url_path = '/';
        $cacti_session_name = 'Cacti';
        CONFIG
        ,
    );
    exit(0);
}
for ($n = 0; $n < 5; $n++) {
    echo trim(
    cacti(
        'add_device.php',
        "--description=tree $n",
        "--ip=127.0.0.$n",
        '--template=0',
        '--avail=none',
        '--version=0',
        '--community=public',
    ),
),
        "\n";
}
echo trim(cacti('add_device.php', '--list-host-templates')), "\n";
echo trim(cacti('add_tree.php', '--type=tree', '--name=Forest', '--sort-method=alpha')), "\n";
echo trim(cacti('add_graphs.php', '--list-graph-templates')), "\n";
echo trim(cacti('copy_user.php', 'admin', 'second')), "\n";
echo trim(cacti('add_graphs.php', '--list-hosts')), "\n";
echo trim(
    cacti('add_tree.php', '--type=node', '--node-type=header', '--tree-id=1', '--name=North'),
),
    "\n";
echo trim(cacti('add_tree.php', '--type=node', '--node-type=host', '--tree-id=1', '--host-id=3')),
    "\n";
echo trim(cacti('add_tree.php', '--list-nodes', '--tree-id=1')), "\n";
echo trim(cacti('remove_device.php', '--ip=127.0.0.2', '--confirm')), "\n";
echo trim(cacti('add_graphs.php', '--list-hosts')), "\n";
