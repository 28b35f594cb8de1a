//! What `duramen backup --help` and `duramen restore --help` print.

pub(crate) const BACKUP: &str = "\
Backs up a server, running or not, to a folder or to object storage. Nothing is locked: the server's files are read. Run it on the server's
machine, as its user.

    duramen backup --datadir=/srv/duramen --to=/backup               a backup; the next one copies what is new
    duramen backup --datadir=/srv/duramen --to=/backup --continuous --every=3600
                                              one an hour, and the log every second
    duramen backup --datadir=/srv/duramen --to=s3://bucket/prefix    the same in object storage; so with --from, too
    duramen backup list   --from=/backup      which there are, and up to where the log is archived
    duramen backup verify --from=/backup      read everything, and restore the latest, and all of the log, into a place that goes again
    duramen backup prune  --from=/backup --keep-days=30
                                              remove old ones; each moment of 30 days remains restorable
    duramen restore --help                    how to get one back

A backup is consistent at a position of the log, which it tells. Only what the server has flushed is archived. A folder is one server's.

    --datadir=DIR      the server's data directory
    --to=DIR           the folder of the backups; it is made if it is not there. Or an address: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX (Google),
                       az://CONTAINER/PREFIX (Azure)
    --from=DIR         the same, for the other commands
    --key-file=FILE    encrypt (AES-256-GCM) with this key, or read what is: 64 hexadecimal digits ('openssl rand -hex 32 > FILE'). Without the
                       file nothing can be restored: keep it elsewhere
    --continuous       go on archiving the log, until the program is ended
    --every=SECONDS    with --continuous: take a backup so often, too, if anything was committed since
    --master-key-file=FILE   the server's duramen_master_key_file, if its files are encrypted: the backup has their content, in clear
                       without --key-file
    --endpoint=URL     object storage: where it is, by default the provider's own (or AWS_ENDPOINT_URL)
    --allow-http       object storage: also by http to another machine
    --lease=SECONDS    object storage: how long the lock of a program that was ended keeps the next one waiting, by default 60
    --jobs=N           threads that copy tables, by default 2, at most 64
    --rate=N           copy tables at N MiB a second at most, so that the server's commits have the disk first; the log is not slowed down
    --all              verify: restore each backup
    --read-only        verify: restore none
    --scratch=DIR      verify: where to restore, by default the system's temporary folder; needs the database's size
    --keep-last=N, --keep-days=N   prune: what remains
    --help             this text

Credentials of object storage are taken from the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN and AWS_REGION;
GOOGLE_SERVICE_ACCOUNT; AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; or those of the machine.

Exit codes: 0 done; 1 verify has found something wrong; 3 it could not be done.
";

pub(crate) const RESTORE: &str = "\
Makes a data directory of a backup and of the log that was archived behind it.

    duramen restore --from=/backup --datadir=/srv/new                              as late as possible
    duramen restore --from=/backup --datadir=/srv/new --to='2026-11-22 03:15'      what was committed before, in UTC
    duramen restore --from=/backup --datadir=/srv/new --to=UUID:4711               up to this transaction
    duramen restore --from=/backup --datadir=/srv/new --to=binlog.000012:4567      what ends there or before

The latest backup in front of the point is taken. What is read is verified, and what is damaged or missing is never restored. The directory
has its name only when recovery has succeeded; what a killed restore leaves is replaced by the next one. Its server has a server_uuid of its
own, so that it gives out no GTID that the old one gave to another transaction.

    --from=DIR         the folder of the backups, or their address: s3://BUCKET/PREFIX ('duramen backup --help' tells more)
    --endpoint=URL, --allow-http   object storage: where it is; also by http
    --datadir=DIR      the data directory to make; it must not be there, or be empty
    --to=POINT         a time in UTC, a GTID, or FILE:OFFSET; by default the end of what is archived
    --keep-uuid        the new server takes the old one's place, and has its server_uuid: only if all of the log was restored, and the old one
                       is gone
    --key-file=FILE    the key, if the backups are encrypted
    --master-key-file=FILE   encrypt the new data directory's tables and log, as duramen_master_key_file does
    --jobs=N           threads that copy tables, by default 2, at most 64
    --help             this text

Exit codes: 0 done; 3 it could not be done, and nothing was made.
";
