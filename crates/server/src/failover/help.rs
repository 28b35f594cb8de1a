//! What `duramen failover --help` prints.

pub(crate) const TEXT: &str = "\
Makes another server the source: the replica that has most is promoted, the old source is fenced, and the others follow the new one.

    duramen failover db1:3306 db2:3306 db3:3306 --user=admin --password=secret --dry-run
    duramen failover db1 db2 db3 --to=db2 --replication-user=repl --replication-password=other

Name all servers of the group: one source, and its replicas by GTID (SOURCE_AUTO_POSITION = 1). Each is a Duramen, or a MySQL of 8.4 or later.

Where the source answers, this is a planned change: it refuses writes from then on (super_read_only), the replica that is promoted applies all
that the source has, and takes writes. If the replica does not get there in time, the source takes writes again. Where the source does not
answer, it is taken for lost: the replicas stop receiving, so that they acknowledge no commit of it any more, apply what they have received,
and the one that has most takes writes. A commit that a client was told is lost by none of this if the source waited for replicas
(rpl_semi_sync_source_enabled, with a timeout that is never reached), and this command makes sure of what it can see:

  - so many replicas answer that one of those that acknowledged a commit is among them: all of them, if --waited-for does not say more
  - each has rpl_semi_sync_replica_enabled, and none still receives from the source
  - the promoted one has all that any other has

Where it can't be sure, it refuses, and tells why. Each step is told before it is done. A failover that was interrupted is finished by the same
command. A source that comes back is made a replica by it, too (with --to of the new source), unless it has committed what the new source does
not have. If it was only cut off and still takes writes, its clients' connections are ended first.

    --to=SERVER             promote this one; by default the one that has most, and of equals the first
    --dry-run               tell the steps, and do nothing
    --wait=SECONDS          how long a replica may take to apply what it lacks, and the source to end what runs; by default 60
    --source-is-off         the lost source is switched off for sure, though a replica still holds a connection to it
    --waited-for=N          each commit of the lost source has waited for N replicas (its rpl_semi_sync_source_wait_for_replica_count), so that N - 1
                            of them may be missing; by default 1
    --accept-loss           promote also where a commit that the lost source acknowledged may be missing
    --skip-own-transactions the others count as executed what the promoted one has executed on its own, before or beside what it followed: the
                            copy by which 'duramen replicate' made it
    --replication-user=NAME, --replication-password=TEXT
                            by which the old source follows the new one; without them it is left alone, and refuses writes.
                            Replicas go on with the account that they have
    --user=NAME, --password=TEXT  for servers whose URL does not say it, by default root without a password; MYSQL_PWD does for the latter
    --help                  this text

A server is HOST:PORT or mysql://USER:PASSWORD@HOST:PORT/?ssl-mode=DISABLED|PREFERRED|REQUIRED|VERIFY_CA|VERIFY_IDENTITY&ssl-ca=FILE. Replicas find the new source under
its report_host and report_port, if it has them, or else under what is named here. The account needs, on each server, SYSTEM_VARIABLES_ADMIN,
REPLICATION_SLAVE_ADMIN, REPLICATION CLIENT, RELOAD, XA_RECOVER_ADMIN, CONNECTION_ADMIN and PROCESS.

Variables are set as long as a server runs: have super_read_only = ON in the configuration of each, so that a source that starts again refuses
writes until this command lets it, or it follows.

Exit codes: 0 done, or with --dry-run: can be done; 1 done, but with warnings: a server does not follow; 3 refused or failed, and told how things are.
";
