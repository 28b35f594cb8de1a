//! Which applications are run.

/// An application; its folder in `xtask/applications` has its program and what pins its packages.
#[derive(Debug)]
pub struct Application {
    /// Of its folder, its database and on the command line.
    pub name: &'static str,
    pub title: &'static str,
    pub packages: Packages,
    /// What its program exercises.
    pub used: &'static str,
}

/// Where it comes from, and so what runs its program.
#[derive(Debug, Clone, Copy)]
pub enum Packages {
    /// `requirements.txt` and `run.py`; Debian's packages that building its libraries needs.
    Python(&'static [&'static str]),
    /// `package-lock.json` and `run.js`.
    Node,
    /// A package of npm's that is an application of its own, not a library, and `run.js`.
    NodeApplication(&'static str),
    /// `go.mod` and a program in Go.
    Go,
    /// `pom.xml` and `Run.java`.
    Java,
    /// A server that Maven's registry has as a whole, by its coordinates, and `run.py`.
    JavaApplication(&'static str),
    /// Debian's packages, unpacked into the folder of the build, and `run.php`.
    Php(&'static [&'static str]),
    /// The same, and `run.rb`; Debian's packages of the libraries that it needs.
    Ruby(&'static [&'static str], &'static [&'static str]),
}

const fn application(
    name: &'static str,
    title: &'static str,
    packages: Packages,
    used: &'static str,
) -> Application {
    Application { name, title, packages, used }
}

/// In the order of the page.
pub const APPLICATIONS: &[Application] = &[
    application(
        "wordpress",
        "WordPress",
        Packages::Php(&["wordpress", "wordpress-theme-twentytwentythree", "php-getid3"]),
        "its installer and upgrade; posts, revisions, terms, comments, users, options and searches by its functions; \
         front page, a post, REST, feed and login over HTTP; `dbDelta` finds no difference",
    ),
    application(
        "mediawiki",
        "MediaWiki",
        Packages::Php(&["mediawiki", "mediawiki-classes"]),
        "its installer; edits, links, text index, statistics, `update.php`, deletes and a dump",
    ),
    application(
        "zabbix",
        "Zabbix",
        Packages::Php(&["zabbix-server-mysql", "zabbix-frontend-php"]),
        "the server's schema with its triggers, images and data; hosts, items, templates, history, an export and \
         deletes by the API of its web pages",
    ),
    application(
        "roundcube",
        "Roundcube",
        Packages::Php(&[
            "roundcube-core",
            "roundcube-mysql",
            "php-pear",
            "php-auth-sasl",
            "php-mail-mime",
            "php-net-smtp",
            "php-masterminds-html5",
        ]),
        "its schema; users, identities, contacts, groups, searches, the cache and cascading deletes by its classes; \
         its updates of older schemas over the newest",
    ),
    application(
        "cacti",
        "Cacti",
        Packages::Php(&["cacti"]),
        "its schema and data; devices, trees, nodes, users and a removal by its programs",
    ),
    application(
        "oscar",
        "Django with django-oscar",
        Packages::Python(&[]),
        "all migrations; a customer registers, searches, fills a basket, orders and reviews by the shop's pages; \
         the staff's dashboard, reports and the admin's pages; an export; deletes that cascade",
    ),
    application(
        "keystone",
        "OpenStack keystone",
        Packages::Python(&[]),
        "`db_sync`, `bootstrap`; projects, users, roles, tokens, conflicts and deletes by its HTTP API",
    ),
    application(
        "neutron",
        "OpenStack neutron",
        Packages::Python(&[]),
        "`upgrade heads` (all migrations); networks, subnets, ports, addresses and security groups as objects",
    ),
    application(
        "nova",
        "OpenStack nova",
        Packages::Python(&[]),
        "`api_db sync`, `db sync`, cells, online data migrations; flavors, 30 instances, searches by metadata, \
         soft deletes, `archive_deleted_rows`",
    ),
    application(
        "airflow",
        "Apache Airflow",
        Packages::Python(&["gcc", "libmariadb-dev", "pkg-config", "python3-dev"]),
        "`db migrate` (all migrations); variables, connections, pools; a workflow read, run with mapped tasks, listed; \
         `db clean`",
    ),
    application(
        "redmine",
        "Redmine",
        Packages::Ruby(
            &["redmine"],
            &[
                "ruby",
                "bundler",
                "puma",
                "ruby-actionpack-action-caching",
                "ruby-actionpack-xml-parser",
                "ruby-commonmarker",
                "ruby-csv",
                "ruby-html-pipeline",
                "ruby-jquery-rails",
                "ruby-mini-magick",
                "ruby-mocha",
                "ruby-mysql2",
                "ruby-net-ldap",
                "ruby-rails",
                "ruby-rails-observers",
                "ruby-rbpdf",
                "ruby-redcarpet",
                "ruby-request-store",
                "ruby-roadie-rails",
                "ruby-rotp",
                "ruby-rouge",
                "ruby-rqrcode",
                "ruby-sanitize",
                "ruby-task-list",
                "ruby-zip",
            ],
        ),
        "all migrations, default data; projects, members, a hundred issues in trees, time, wiki pages, files, boards \
         and searches by its pages and its API over HTTP; every filter, grouping and order of its queries; reports, \
         gantt, calendar, exports; copies, deletes that cascade, children made at once; migrations undone and redone, \
         schema dumps",
    ),
    application(
        "ghost",
        "Ghost",
        Packages::NodeApplication("ghost@5.130.6"),
        "all migrations at its first start; an owner, posts, tags, members, conflicts, searches and deletes by its \
         API; front page, a post, feed and site map",
    ),
    application(
        "directus",
        "Directus",
        Packages::Node,
        "all migrations; collections, fields and relations made, changed and dropped by its API; items, searches, \
         aggregates, nested reads, permissions, revisions",
    ),
    application(
        "orms",
        "TypeORM, Sequelize, Knex, Drizzle",
        Packages::Node,
        "schemas made, altered and read back; relations, upserts, JSON, transactions, locks, soft deletes, pages",
    ),
    application(
        "gorm",
        "GORM",
        Packages::Go,
        "`AutoMigrate` twice, renames and drops; associations, upserts, savepoints, locks, checks, batches",
    ),
    application(
        "java",
        "Liquibase, Flyway, Hibernate, Flowable",
        Packages::Java,
        "Liquibase: changes with a view and a trigger, rollback; Flyway: versions with a procedure, a view; Hibernate: \
         tables made and validated, entities, bulk changes; Flowable: schema, processes with tasks, history",
    ),
    application(
        "camunda",
        "Camunda",
        Packages::Java,
        "its schema; processes with tasks, timers, messages, work for others and decisions, failed jobs and incidents; \
         batches, suspension, queries, authorizations, reports, attachments, the history's clean-up, deletes",
    ),
    application(
        "keycloak",
        "Keycloak",
        Packages::JavaApplication("org.keycloak:keycloak-quarkus-dist:26.0.7:zip"),
        "all changes at its first start; a realm, clients, roles, groups, users, logins, token refreshes, events, \
         conflicts, searches and deletes by its HTTP API",
    ),
];
