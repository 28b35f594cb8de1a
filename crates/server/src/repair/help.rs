//! What `duramen check --help` and `duramen repair --help` print.

pub(crate) const CHECK: &str = "\
Examines a data directory that no server runs on, and changes nothing in it.

    duramen check --datadir=/srv/duramen            what a start needs, and every block of every table
    duramen check --datadir=/srv/duramen --full     the whole binary log too, also what tables hold long since
    duramen check --datadir=/srv/duramen --json     one JSON object, for programs

It reads the binary log (from where the tables are; all of it if something is damaged), the files of the folder 'store' with all their
blocks, and the definitions of tables, functions and accounts. It says what is sound, what is damaged (file, offset in bytes, which table),
what can be made anew and of what, and what is lost for sure:

    binlog.index, store/CURRENT       from the files that are there, if these leave no doubt; a start does so by itself
    filters and secondary indexes     from the rows
    tables                            from the binary log, if it goes back to its first file
    transactions of the log           from nothing else: a backup of the file, or a replica

    --datadir=DIR     the data directory
    --master-key-file=FILE   the server's duramen_master_key_file, if files are encrypted
    --full            read every log file from its beginning
    --json            the result as JSON; docs/repair.md tells the fields
    --log-bin=NAME    what log files are called before their number, if it is not to be seen in the directory
    --help            this text

Exit codes: 0 sound; 1 damaged, and all can be repaired; 2 damaged with loss; 3 it can't be examined.
";

pub(crate) const REPAIR: &str = "\
Makes a new data directory of one that is damaged. The damaged one is only read.

    duramen check  --datadir=/srv/duramen
    duramen repair --datadir=/srv/duramen --into=/srv/duramen.new
    duramen repair --datadir=/srv/duramen --into=/srv/duramen.new --accept-loss

Everything is examined first, as 'duramen check --full' does. If all is sound nothing is made. If something would be lost it says what,
and makes nothing, unless --accept-loss is given: a backup or a replica may have it. Then

    1. the binary log is copied. Where it is damaged it ends in front of the damage (--accept-loss); what was behind is kept beside it
       as binlog.NNNNNN.cut.
    2. the tables are made: by executing the whole binary log again, if it goes back to its first file; else of all blocks that can
       be read, with filters and secondary indexes made anew. Sound tables are copied.
    3. the server's recovery runs on the new directory, and every block of it is read again.

If transactions of the log are lost the new directory gets a new server_uuid, so that no GTID is given to two transactions. Replicas that have
read the lost transactions are ahead of it: make them anew. What was done and what is lost stands in repair-report.json in
the new directory.

    --datadir=DIR     the damaged data directory; no server runs on it
    --master-key-file=FILE   the server's duramen_master_key_file, if files are encrypted; those of the new directory are encrypted then
    --into=DIR        the new one: not there yet, or empty. It takes as much room as the old one
    --accept-loss     go on although something is lost
    --force           make a new directory although nothing is damaged, all tables from the log if it goes back to its first file
    --json            the result as JSON; docs/repair.md tells the fields
    --log-bin=NAME    what log files are called before their number, if it is not to be seen in the directory
    --help            this text

Exit codes: 0 nothing was damaged, or all is repaired; 1 repaired with loss, or something is still set aside; 2 refused, as something would be lost;
3 it can't be done.
";

pub(crate) const UPGRADE_CHECK: &str = "\
Tells whether this version of Duramen opens a data directory, before it does. The directory is only read; no server may run on it.

    duramen upgrade-check --datadir=/srv/duramen

It reads what a start would read: the header of each log file, the log from where the tables are, the last bytes of each table file, and
the catalog. It says which format each has, which ones this version reads and writes, and what it would write in a newer format, so that
older versions do not open it any more. What is of a newer version than this one is told by name and format; so are damage, and
directories of MySQL and MariaDB.

    --datadir=DIR     the data directory
    --master-key-file=FILE   the server's duramen_master_key_file, if files are encrypted
    --log-bin=NAME    what log files are called before their number, if it is not to be seen in the directory
    --help            this text

Exit codes: 0 it is opened, and all formats stay; 1 it is opened, and something is written in a newer format from then on; 2 it is not
opened, or damaged: of a newer version, of another server; 3 it can't be examined.
";
