//! What `duramen compare --help` prints.

pub(crate) const TEXT: &str = "\
Tells whether two servers hold the same rows: a source, and a replica of it. Each is a Duramen, a MySQL or a MariaDB.

    duramen compare db1:3306 db2:3306 --user=root --password=secret
    duramen compare mysql://root:secret@db1 mysql://root:other@db2:3307/?ssl-mode=REQUIRED --database=shop

Both are read in snapshots: the source's is taken first, then the replica's, once it has applied just what the source had by then. The
servers count and sum the rows of each chunk of a table; where the sums differ, the keys of the differing rows are listed. Rows are
compared, not definitions: views, triggers, routines, events, indexes and accounts are not looked at.

    --pause            for replicas that are never at rest: stop the applier while the snapshots are taken, have it apply just what the
                       source had, and start it again; needs REPLICATION_SLAVE_ADMIN there
    --at-rest          compare servers of which none follows the other, and to which nobody writes
    --wait=SECONDS     how long the replica may take to get where the source is, by default 60
    --database=NAME,.. these alone; by default all that are not the server's own
    --table=DATABASE.NAME,..  these alone, and those of --database if that is given too
    --threads=N        sessions on each server, by default 4
    --chunk-rows=N     rows of a chunk; by default 10000, fewer where rows are long
    --rows=N           keys that are listed of a table, by default 20
    --user=NAME, --password=TEXT  for servers whose URL does not say it, by default root without a password; MYSQL_PWD does for the latter
    --json             the result as one JSON object
    --help             this text

A URL's options: ssl-mode=DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY, ssl-ca=FILE. Besides SELECT on all tables the source's account needs
REPLICATION CLIENT, and RELOAD for a moment's lock (on a Duramen only if it is written to without a pause); the replica's REPLICATION CLIENT.

Exit codes: 0 equal; 1 something differs; 3 it could not be compared.
";
