//! What `duramen binlog --help`, and each command's, prints.

/// `duramen binlog --help`.
pub(crate) const OVERVIEW: &str = "\
Reads binary log files: those of Duramen, MySQL and MariaDB, plain or compressed, whole or cut off.

    duramen binlog print    events as text, as mysqlbinlog -v prints them, or as JSON lines
    duramen binlog verify   checksums, order, GTIDs, the structure of transactions: is it whole, and is anything missing?
    duramen binlog stats    what it is made of: rows and bytes of each table, sizes, rate over time
    duramen binlog find     where a GTID, a time, or the changes of a row are
    duramen binlog cut      the part between two points, as a file of its own
    duramen binlog rewrite  a file once more: with other database names, without a table's rows, without checksums
    duramen binlog replay   point-in-time recovery: a copy of a data directory and the log behind it become a new one

A file is named by its path; '-' is standard input; a data directory stands for all files that its index lists, in order. The
file that a server is writing ends at its last whole event. print, verify, stats and find read from a server too, up to the end of its
log: --server=HOST:PORT with --user=NAME and --password=TEXT (or MYSQL_PWD in the environment), and names of its log files, or none for
all. No command changes a file that it reads, and memory is
bounded by the largest event. Encrypted files are read with --master-key-file=FILE, the server's duramen_master_key_file; what cut and
rewrite make is not encrypted, what replay makes is then. 'duramen binlog COMMAND --help' tells each command's options.

Exit codes: 0 done; 1 damage was found, or nothing of what was looked for; 2 it can't be done.
";

const PRINT: &str = "\
Prints events.

    duramen binlog print binlog.000007                        headers and statements
    duramen binlog print -v duramen-data                      rows too, of all files of a data directory
    duramen binlog print --json binlog.000007 | jq .sql       one JSON object a line and event
    duramen binlog print -v --include-gtids=UUID:17 FILE..    one transaction
    zcat binlog.000007.gz | duramen binlog print -v -

    -v, --verbose           rows as pseudo-SQL, lines that begin with ###; twice (-vv): with column types, and the statements
                            that rows come from, where the log has them
    --json                  JSON lines, with all rows: docs/formats/binlog-json.md tells the fields
    -j, --start-position=N  of the first file: from this offset on
    --stop-position=N       of the last file: events before this offset
    --start-datetime=TIME   events whose statement began then or later, in UTC: '2026-11-22 03:15:00'
    --stop-datetime=TIME    end at the first event whose statement began then or later
    --include-gtids=SET     these transactions only
    --exclude-gtids=SET     all but these
    -d, --database=NAME     rows of its tables, and statements that ran in it; what bounds transactions stays
    --base64-output=decode-rows   the only way; BINLOG statements for a server are not written: to recover, use
                            'duramen binlog replay'
    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text
";

const VERIFY: &str = "\
Verifies files, given in their order.

    duramen binlog verify binlog.000007 binlog.000008
    duramen binlog verify duramen-data

Of each file: every checksum, lengths and end_log_pos, every row to its last value; transactions begin with a GTID, end, and have
the length that it says; last_committed < sequence_number, which grows; no GTID comes twice; Rotate or Stop is last. From file to file:
Previous_gtids are what the files before had, and Rotate names the next, so that a missing file is found.

What is wrong is told with file and offset, and the exit code is 1. A file that a crash cut off, or that is being written, ends in
zeros or inside a transaction: that is told as such, with the offset at which it is whole. A start of the server cuts
it there.

    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text
";

const STATS: &str = "\
Tells what a log is made of.

    duramen binlog stats duramen-data
    duramen binlog stats binlog.000007 binlog.000008

Rows and bytes of row events that each table has inserted, updated and deleted; how many transactions have which size; how many were
committed a second, over time; the ten largest, with file and offset. Compressed transactions are looked into: tables' bytes are those
before compression, sizes those in the file.

    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text
";

const FIND: &str = "\
Tells where transactions are: file, offsets, when they were committed (UTC), GTID.

    duramen binlog find --gtid=UUID:17 duramen-data            these transactions; MariaDB's GTIDs too: 0-1-17
    duramen binlog find --time='2026-11-22 03:15' FILE..       the first that was committed then or later
    duramen binlog find --table=shop.orders FILE..             all that changed rows of the table
    duramen binlog find --table=shop.orders --value=4711 FILE..  all where a row of it has this value in a column, before or after

    --gtid=SET              one GTID, or a set of them
    --time=TIME             in UTC, to the microsecond: '2026-11-22 03:15:00.123456'. Files without commit timestamps (MariaDB's)
                            know seconds
    --table=DATABASE.TABLE  by row events
    --value=TEXT            as 'print -v' shows it, with or without quotes
    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text

Exit code 1: nothing was found.
";

const CUT: &str = "\
Writes the part of a log between two points as a binary log file of its own: with its format description, Previous_gtids that name all
that came before, whole transactions, and Stop. Bytes are as they were, but for places, checksums, and, behind the first file,
logical timestamps, which grow on. MySQL, replicas and tools read the file as any other.

    duramen binlog cut -o part.000001 --from-gtid=UUID:10 --until-gtid=UUID:20 binlog.000007 binlog.000008
    duramen binlog cut -o part.000001 --from-position=1234 --until-time='2026-11-22 03:15' FILE..

    -o, --output=FILE       the file to make; it must not be there
    --from-position=N       transactions that start at this offset of the first file or behind it
    --from-gtid=GTID        this one is the first
    --until-position=FILE:N transactions that end at or before this place
    --until-gtid=GTID       this one is the last
    --until-time=TIME       transactions that were committed before, in UTC
    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text

Files of MariaDB are not cut.
";

const REWRITE: &str = "\
Writes a file once more, changed: lengths, places, checksums and the lengths in GTID events are those of what is written.

    duramen binlog rewrite -o new.000001 --rewrite-db='shop->shop_test' binlog.000007
    duramen binlog rewrite -o new.000001 --drop-table=shop.sessions --drop-table=shop.cache binlog.000007
    duramen binlog rewrite -o new.000001 --strip-checksums binlog.000007

    -o, --output=FILE       the file to make; it must not be there
    --rewrite-db=OLD->NEW   of tables in row events, and as the default database of statements. The texts of statements stay as they are,
                            as with mysqlbinlog: one that names a database keeps doing so
    --drop-table=DATABASE.TABLE  leaves the table's row events out, by its old database name; statements that define it stay, and so do
                            transactions of which nothing else is left, for their GTIDs
    --strip-checksums       the format description says that there are none
    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted
    --help                  this text

Compressed transactions are written uncompressed if what is in them may change.
";

const REPLAY: &str = "\
Recovers to a point in time: makes a new data directory from a base, which is a copy of a data directory, and the log files behind it.

    duramen binlog replay --base=/backup/monday --datadir=/srv/restored --until-time='2026-11-22 03:15' /backup/binlogs/binlog.0*
    duramen binlog replay --base=/backup/monday --datadir=/srv/restored --until-gtid=UUID:4711 /srv/duramen
    duramen binlog replay --base=/backup/monday --datadir=/srv/restored FILE..              all of it

The files, or a data directory that has them, go on from where the base's log ends; those that the base has already are passed over. A
gap, or a file of another history, is found before anything is made. Then base and log are copied, the last file up to the
point, and the database is opened and closed once: what recovery finds must be what was planned. The new directory has its name
only then; while it is made it is called NAME.unfinished. Base and log files are read only.

    --base=DIRECTORY        taken while its server was stopped, or as docs/binlog-tool.md says for one that runs
    --datadir=DIRECTORY     the new data directory; it must not be there, or be empty
    --until-gtid=GTID       this transaction is the last
    --until-time=TIME       transactions that were committed before, in UTC, to the microsecond: '2026-11-22 03:15:00.5'
    --until-position=FILE:N transactions that end at or before this place: binlog.000007:1234
    --logs=FILE             the same as naming the file
    --keep-uuid             the new directory keeps the base's server_uuid. Otherwise its server gets another one: it would give out
                            GTIDs again that replicas know from transactions behind the point
    --master-key-file=FILE  the server's duramen_master_key_file, if files are encrypted; those of the new directory are then
    --help                  this text

To look for the point: 'duramen binlog find', 'duramen binlog print -v'.
";

/// A command's help.
pub(super) fn of(command: &str) -> &'static str {
    match command {
        "print" => PRINT,
        "verify" => VERIFY,
        "stats" => STATS,
        "find" => FIND,
        "cut" => CUT,
        "rewrite" => REWRITE,
        "replay" => REPLAY,
        _ => OVERVIEW,
    }
}
