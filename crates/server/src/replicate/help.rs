//! What `duramen replicate --help` prints.

pub(crate) const TEXT: &str = "\
Copies all databases of a running MySQL, MariaDB or Duramen, and follows it from there on: a replica in one command.

    duramen replicate --from=mysql://root:secret@db1:3306 --datadir=/var/lib/duramen --server-id=2
    duramen serve --datadir=/var/lib/duramen --server-id=2      # at each later start: it goes on following

Nothing is installed on the source, which is only read; its tables are locked for the moment in which its snapshot is taken. Every
definition is tried first: what can't be carried over is told before anything is copied. An interrupted copy goes on when the command is
called again: what has been copied is compared by checksums, and only what has changed since is copied again.

To make the replica the source, stop the writers, wait until it has caught up ('duramen compare' says that both are equal), and say there:
    STOP REPLICA; RESET REPLICA ALL;

    --from=URL         mysql://USER:PASSWORD@HOST:PORT/?ssl-mode=..; the account needs SELECT, SHOW VIEW, TRIGGER, EVENT, RELOAD,
                       PROCESS, REPLICATION CLIENT and REPLICATION SLAVE on *.*, and of a MySQL or Duramen XA_RECOVER_ADMIN; it
                       follows with them later; MYSQL_PWD does for a password
    --threads=N        sessions that copy at once, by default 4
    --ignore-database=NAME,..          leave these out, in the copy and when following
    --ignore-table=DATABASE.NAME,..    and these
    --ignore-refused   leave out views, triggers, routines and events that are refused
    --no-accounts      leave the accounts out; a MariaDB's are always
    --copy-only        stop where 'duramen serve' would begin
    --help             this text
    all others         options of 'duramen serve', as --datadir, --server-id (another than the source's), --port

A URL's options: ssl-mode=DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY, ssl-ca=FILE.

Exit codes: those of 'duramen serve' once it runs; 3 it could not be done.
";
