<?php
// A blog: its schema as its installer makes it, then posts, terms, comments, users and searches by
// its functions, and pages over HTTP.
$root = getenv('APPLICATION_ROOT') . '/usr/share/wordpress';
if ($argv[1] === 'version') {
    require $root . '/wp-includes/version.php';
    echo "WordPress $wp_version\n";
    exit(0);
}
if ($argv[1] === 'migrate') {
    file_put_contents(
        $root . '/wp-config.php',
        <<<'CONFIG'
        <?php
        define('DB_NAME', getenv('DB_NAME'));
        define('DB_USER', getenv('DB_USER'));
        define('DB_PASSWORD', getenv('DB_PASSWORD'));
        define('DB_HOST', getenv('DB_HOST') . ':' . getenv('DB_PORT'));
        define('DB_CHARSET', 'utf8mb4');
        define('DB_COLLATE', '');
        foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $key) {
            define($key . '_KEY', $key);
            define($key . '_SALT', $key . 'salt');
        }
        define('WP_HTTP_BLOCK_EXTERNAL', true);
        define('DISABLE_WP_CRON', true);
        $table_prefix = 'wp_';
        if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
        require_once ABSPATH . 'wp-settings.php';
        CONFIG
        ,
    );
}
$_SERVER += [
    'HTTP_HOST' => 'localhost',
    'REQUEST_URI' => '/',
    'REQUEST_METHOD' => 'GET',
    'SERVER_PROTOCOL' => 'HTTP/1.1',
];
if ($argv[1] === 'migrate') {
    define('WP_INSTALLING', true);
    require $root . '/wp-load.php';
    require ABSPATH . 'wp-admin/includes/upgrade.php';
    add_filter('pre_wp_mail', '__return_true');
    wp_install('Trees', 'admin', 'admin@example.com', true, '', 'secret');
    wp_upgrade();
    exit(is_blog_installed() ? 0 : 1);
}
require $root . '/wp-load.php';
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/taxonomy.php';
require_once ABSPATH . 'wp-admin/includes/user.php';
global $wpdb;
$wpdb->hide_errors();
switch_theme('twentytwentythree');
$oak = wp_create_category('Oaks');
wp_create_category('Holm oaks', $oak);
$posts = [];
for ($n = 0; $n < 40; $n++) {
    $posts[] = wp_insert_post(
        [
            'post_title' => "Post $n",
            'post_content' => "About tree \u{1F333} number $n.",
            'post_status' => $n % 4 ? 'publish' : 'draft',
            'post_author' => 1,
            'post_category' => [$oak],
            'tags_input' => ['green', 't' . $n % 5],
            'post_date' => sprintf('2026-01-%02d 10:00:00', ($n % 28) + 1),
            'meta_input' => ['height' => $n, 'kind' => $n % 2 ? 'oak' : 'ash'],
        ],
        true,
    );
}
$found = new WP_Query(['s' => 'tree number 7', 'posts_per_page' => 5]);
echo 'search: ', $found->found_posts, ' ', $found->posts[0]->post_title, "\n";
$found = new WP_Query([
    'meta_query' => [
        ['key' => 'height', 'value' => [10, 20], 'type' => 'NUMERIC', 'compare' => 'BETWEEN'],
        ['key' => 'kind', 'value' => 'oak'],
    ],
    'tax_query' => [['taxonomy' => 'post_tag', 'field' => 'slug', 'terms' => ['t1', 't3']]],
    'orderby' => 'meta_value_num',
    'meta_key' => 'height',
    'order' => 'DESC',
    'posts_per_page' => 3,
]);
echo 'by meta and tag: ',
    $found->found_posts,
    ' ',
    implode(',', wp_list_pluck($found->posts, 'post_title')),
    "\n";
$found = new WP_Query([
    'date_query' => [['after' => '2026-01-05', 'before' => '2026-01-10', 'inclusive' => true]],
    'orderby' => 'title',
    'nopaging' => true,
]);
echo 'by date: ', $found->post_count, "\n";
for ($n = 0; $n < 12; $n++) {
    $comment = wp_insert_comment([
        'comment_post_ID' => $posts[1],
        'comment_content' => "Comment $n",
        'comment_author' => 'R',
        'comment_parent' => $n % 3 ? $comment ?? 0 : 0,
        'comment_approved' => $n % 5 ? 1 : 0,
    ]);
}
$count = wp_count_comments($posts[1]);
echo "comments: $count->approved approved, $count->moderated waiting, ",
    count(get_comments(['search' => 'Comment 1', 'post_id' => $posts[1]])),
    " found\n";
foreach (['editor', 'author', 'subscriber'] as $role) {
    wp_insert_user([
        'user_login' => $role,
        'user_pass' => 'x',
        'user_email' => "$role@example.com",
        'role' => $role,
    ]);
}
echo 'editors: ',
    (new WP_User_Query(['role' => 'editor', 'search' => '*edit*']))->get_total(),
    ' ',
    json_encode(count_users()['avail_roles']),
    "\n";
set_transient('weather', ['sun' => 1], 60);
update_option('blob', str_repeat('x', 100000));
echo 'options: ', json_encode(get_transient('weather')), strlen(get_option('blob')), "\n";
wp_update_post(['ID' => $posts[1], 'post_title' => 'Renamed', 'post_content' => 'New text']);
echo 'revisions: ', count(wp_get_post_revisions($posts[1])), "\n";
wp_delete_user(get_user_by('login', 'author')->ID, 1);
wp_trash_post($posts[2]);
wp_delete_post($posts[3], true);
delete_expired_transients();
echo 'terms: ',
    implode(
        ',',
        array_map(
            fn($t) => "$t->slug=$t->count",
            get_terms([
                'taxonomy' => 'post_tag',
                'orderby' => 'count',
                'order' => 'DESC',
                'number' => 3,
            ]),
        ),
    ),
    "\n";
echo 'archives: ', substr_count(wp_get_archives(['type' => 'daily', 'echo' => 0]), '<li>'), "\n";
print_r(array_map('strval', (array) wp_count_posts()));
echo 'changes to the schema wanted: ', implode(' ', dbDelta(wp_get_db_schema(), false)), "\n";

// The pages, from PHP's own web server.
$socket = stream_socket_server('tcp://127.0.0.1:0');
$port = (int) explode(':', stream_socket_get_name($socket, false))[1];
fclose($socket);
update_option('siteurl', "http://127.0.0.1:$port");
update_option('home', "http://127.0.0.1:$port");
$web = proc_open(
    ['php', '-S', "127.0.0.1:$port", '-t', $root],
    [['file', '/dev/null', 'r'], ['file', '/dev/null', 'w'], ['file', '/dev/null', 'w']],
    $pipes,
);
for ($tries = 0; $tries < 100 && !@fsockopen('127.0.0.1', $port); $tries++) {
    usleep(100000);
}
$get = fn($path) => file_get_contents(
    "http://127.0.0.1:$port/$path",
    false,
    stream_context_create(['http' => ['ignore_errors' => true]]),
);
echo 'front page: ', str_contains($get(''), 'Post 27') ? 'has' : 'lacks', " its posts\n";
echo 'a post: ', str_contains($get("?p=$posts[1]"), 'Renamed') ? 'renamed' : 'not renamed', "\n";
echo 'REST: ',
    implode(
        ',',
        array_column(
            array_column(
                json_decode(
                    $get('?rest_route=/wp/v2/posts&search=tree&per_page=3&orderby=title'),
                    true,
                ),
                'title',
            ),
            'rendered',
        ),
    ),
    "\n";
echo 'feed: ', substr_count($get('?feed=rss2'), '<item>'), "\n";
echo 'login: ', str_contains($get('wp-login.php'), 'loginform') ? 'there' : 'missing', "\n";
proc_terminate($web);
