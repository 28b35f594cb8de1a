//! What `duramen check-schema --help` prints.

pub(crate) const TEXT: &str = "\
Tells what of a schema written for MySQL or MariaDB would be refused, or differ, before anything is made.

    duramen check-schema schema.sql
    duramen check-schema --server=127.0.0.1:3306 --user=root --database=shop
    mysqldump --no-data --routines --events --all-databases | duramen check-schema -

Each statement that defines something is tried in an empty database of its own, which is thrown away: no server has to run, and none is
touched. Rows are not tried: INSERT and its like are counted. For each finding it says the line, what is refused with the error that a
client would see, and a way out; a table that is refused is examined to its end, as if the cause were not there.

    --server=HOST:PORT  examine what a running MySQL or MariaDB has, not a file; it is only read
    --user=NAME, --password=TEXT  the account there, by default root without a password; MYSQL_PWD in the environment does for the latter
    --database=NAME     this one alone; by default all that are not the server's own
    --json     the result as one JSON object, with 'findings' of 'source', 'line', 'verdict', 'statement', 'error', 'text', 'way_out'
    --help     this text

Exit codes: 0 all is taken as it is; 1 all is taken, and something differs; 2 something is refused, or was not to be read; 3 it can't be examined.
";
