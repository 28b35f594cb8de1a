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
    /// `requirements.txt` and `run.py`.
    Python,
    /// `package-lock.json` and `run.js`.
    Node,
    /// `go.mod`.
    Go,
    /// `pom.xml` and `Run.java`.
    Java,
    /// Debian's packages, unpacked into the folder of the build, and `run.php`.
    Php(&'static [&'static str]),
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
        "oscar",
        "Django with django-oscar",
        Packages::Python,
        "all migrations; a customer registers, searches, fills a basket, orders and reviews by the shop's pages; \
         the staff's dashboard, reports and the admin's pages; an export; deletes that cascade",
    ),
    application(
        "keystone",
        "OpenStack keystone",
        Packages::Python,
        "`db_sync`, `bootstrap`; projects, users, roles, tokens, conflicts and deletes by its HTTP API",
    ),
    application(
        "neutron",
        "OpenStack neutron",
        Packages::Python,
        "`upgrade heads` (all migrations); networks, subnets, ports, addresses and security groups as objects",
    ),
    application(
        "nova",
        "OpenStack nova",
        Packages::Python,
        "`api_db sync`, `db sync`, cells, online data migrations; flavors, 30 instances, searches by metadata, \
         soft deletes, `archive_deleted_rows`",
    ),
];
