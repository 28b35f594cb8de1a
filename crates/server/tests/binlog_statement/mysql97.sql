/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=1*/;
/*!50003 SET @OLD_COMPLETION_TYPE=@@COMPLETION_TYPE,COMPLETION_TYPE=0*/;
DELIMITER /*!*/;
BINLOG '
sgMEaw8+AAAAewAAAAAAAAAAAAQAOS43LjQtMgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
AAAAAAAAAAAAAAAAAAAAAAAAEwANAAgAAAAABAAEAAAAYwAEGggAAAAAAAACAAAACgoKKioAEjQA
CigAAAHXb2ZC
'/*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808514280*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25320'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
SET @@session.pseudo_thread_id=2762/*!*/;
SET @@session.foreign_key_checks=1, @@session.sql_auto_is_null=0, @@session.unique_checks=1, @@session.autocommit=1/*!*/;
SET @@session.sql_mode=1168113696/*!*/;
SET @@session.auto_increment_increment=1, @@session.auto_increment_offset=1/*!*/;
/*!\C utf8mb4 *//*!*/;
SET @@session.character_set_client=255,@@session.collation_connection=255,@@session.collation_server=255/*!*/;
SET @@session.lc_time_names=0/*!*/;
SET @@session.collation_database=DEFAULT/*!*/;
/*!80011 SET @@session.default_collation_for_utf8mb4=255*//*!*/;
drop database if exists shop
/*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808516971*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25321'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
/*!80016 SET @@session.default_table_encryption=0*//*!*/;
create database shop
/*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808665934*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25322'/*!*/;
use `shop`/*!*/;
SET TIMESTAMP=1795429808/*!*/;
SET @@session.explicit_defaults_for_timestamp=1/*!*/;
/*!80013 SET @@session.sql_require_primary_key=0*//*!*/;
create table item (id int primary key auto_increment, name varchar(20), price decimal(8,2), kind enum('a','b','c'), tags set('x','y','z'), made datetime(3), at timestamp null, f double, doc json, bits bit(10), bin varbinary(8), big bigint unsigned, n int, g int generated always as (n * 2) stored, check (price >= 0))
/*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808689371*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25323'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
/*!80013 SET @@session.sql_require_primary_key=0*//*!*/;
create table pile (a int, b varchar(10) character set latin1)
/*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808705605*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25324'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
/*!80013 SET @@session.sql_require_primary_key=0*//*!*/;
create table pair (k varchar(10) not null, v text, unique key (k))
/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808712767*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25325'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
SET @@session.time_zone='SYSTEM'/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAHjcigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP19MKUE=
sBUEax4+AAAAtgAAAC7digAAAKEfAAAAABEAAgAO//8AMAEAAAAGw6RwZmVsgAABGQIFmbK7fvsn
BmXhGoA7JV+4g267VCQAAAAAAgAjABIAAQATAAEABQEAAhQAYWIDAA8ABQEABQIADA0AAXgCqgIA
/////////////j8CAAAAQDADAAAAAWOBhp9jAwCMskIAAAAAAAAAAAAAAAAFAAAAAgAABAAAAAAA
AAAAAAAAANKuDqY=
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808738878*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25326'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAEbeigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP6uIBkE=
sBUEax8+AAAATgEAAJTfigAAAKEfAAAAABEAAgAO/////wAwAQAAAAbDpHBmZWyAAAEZAgWZsrt+
+ycGZeEagDslX7iDbrtUJAAAAAACACMAEgABABMAAQAFAQACFABhYgMADwAFAQAFAgAMDQABeAKq
AgD///////////8AAAEAAAAGw6RwZmVsgAABGQIFmbK7fvsnBmXhGoA7JV+4g267VCQAAAAAAgAj
ABIAAQATAAEABQEAAhQAYWIDAA8ABQEABQIADA0AAXgCqgIA////////////AQAAAAIAAABAMAMA
AAABY4GGn2MDAIyyQgAAAAAAAAAAAAAAAAUAAAACAAAEAAAAAAAAAAAAAAAAQAADAAAAAWOBhp9j
AwCMskIAAAAAAAAAAAAAAAAFAAAAAgAABAAAAAAAAAAAAAAAAAMAAAAGAAAAPXQiLw==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808746879*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25327'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAKzgigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP+trx3w=
sBUEax8+AAAA7AAAAJjhigAAAKEfAAAAABEAAgAO/////wAAAQAAAAbDpHBmZWyAAAEZAgWZsrt+
+ycGZeEagDslX7iDbrtUJAAAAAACACMAEgABABMAAQAFAQACFABhYgMADwAFAQAFAgAMDQABeAKq
AgD///////////8BAAAAAgAAAAAAAQAAAAbDhHBmZWyAAAIZAgWZsrt++ycGZeEagDslX7iDbrtU
JAAAAAACACMAEgABABMAAQAFAQACFABhYgMADwAFAQAFAgAMDQABeAKqAgD///////////8BAAAA
AgAAAGzW9OE=
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808753655*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25328'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAIniigAAAKIfAAAAAAEABHNob3AABHBpbGUAAgMPAgoAAwEBAAIBCDecHEw=
sBUEax4+AAAAPQAAAMbiigAAAKIfAAAAABEAAgAC/wABAAAAAeQAAQAAAAHkAgIAAAAAAwAAAAFj
9LLa+A==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808775579*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25329'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAMDjigAAAKIfAAAAAAEABHNob3AABHBpbGUAAgMPAgoAAwEBAAIBCK+BHFg=
sBUEax8+AAAASgAAAArkigAAAKIfAAAAABEAAgAC//8AAQAAAAHkAAIAAAAB5AABAAAAAeQAAgAA
AAHkAgIAAAACAwAAAAR1AKc=
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808778892*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25330'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAPvkigAAAKIfAAAAAAEABHNob3AABHBpbGUAAgMPAgoAAwEBAAIBCMnG39A=
sBUEayA+AAAAKgAAACXligAAAKIfAAAAABEAAgAC/wACAAAAAeRPzimP
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808781698*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25331'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAABbmigAAAKMfAAAAAAEABHNob3AABHBhaXIAAg/8AygAAgICA/z/ACh6tSQ=
sBUEax4+AAAAXgEAAHTnigAAAKMfAAAAABEAAgAC/wADb25lAQB4AAN0d28sAXl5eXl5eXl5eXl5
eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5
eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5
eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5
eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5
eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5eXl5
eXl5eaxD0Bk=
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808783948*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25332'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAIzoigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP+1Uspk=
sBUEayc+AAAARgAAANLoigAAAKEfAAAAABEAAgAOAQAAAQABAAAAAQEAFAAAAAADJC5hAwUCAAED
JC5jBQwDbmV3MVtexA==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808787435*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25333'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAOrpigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP7jYj+E=
sBUEayc+AAAAOgAAACTqigAAAKEfAAAAABEAAgAOAQAAAQABAAAAAQEACAAAAAIGJC5iWzFdY4K+
ng==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808791566*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25334'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAADzrigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP0Q7LEM=
sBUEayc+AAAAMQAAAG3rigAAAKEfAAAAABEAAgAOAQAEAAADAAAAAACAAAMAKBZW1w==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808793709*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25335'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAGfsigAAAKMfAAAAAAEABHNob3AABHBhaXIAAg/8AygAAgICA/z/APA7PIc=
sBUEayc+AAAALgAAAJXsigAAAKMfAAAAABEAAgACAQIAA29uZQAAAQB6nLM7Qg==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808794857*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25336'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAIbtigAAAKMfAAAAAAEABHNob3AABHBhaXIAAg/8AygAAgICA/z/AD5RTqs=
sBUEayA+AAAAKAAAAK7tigAAAKMfAAAAABEAAgACAQADdHdvjdvZuw==
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808799455*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25337'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAJ/uigAAAKMfAAAAAAEABHNob3AABHBhaXIAAg/8AygAAgICA/z/AG2iQoI=
sBUEax4+AAAAKgAAAMnuigAAAKMfAAAAABEAAgACAQAFdGhyZWXzq4wg
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808810417*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25338'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAANjvigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8AP1J7TlI=
sBUEayA+AAAAKQAAAAHwigAAAKEfAAAAABEAAgAOAQAAAgAAAMNIz2I=
'/*!*/;
COMMIT/*!*/;
/*!50718 SET TRANSACTION ISOLATION LEVEL READ COMMITTED*//*!*/;
/*!80001 SET @@session.original_commit_timestamp=1795429808818955*//*!*/;
/*!80014 SET @@session.original_server_version=90704*//*!*/;
/*!80014 SET @@session.immediate_server_version=90704*//*!*/;
SET @@SESSION.GTID_NEXT= '1ddce208-e71e-11f1-8702-02fc00000001:25339'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
BEGIN
/*!*/;

BINLOG '
sBUEaxM+AAAAOAAAAPLwigAAAKIfAAAAAAEABHNob3AABHBpbGUAAgMPAgoAAwEBAAIBCM2Uj2k=
sBUEax4+AAAALQAAAB/xigAAAKIfAAAAABEAAgAC/wAJAAAABG5pbmUxkRmw
'/*!*/;

BINLOG '
sBUEaxM+AAAAVgAAAHXxigAAAKEfAAAAAAEABHNob3AABGl0ZW0ADgMP9v7+EhEF9RAPCAMDEFAA
CAL3AfgBAwAIBAIBCAD+PwEBEAME/P8APwY+Wcw=
sBUEayc+AAAANQAAAKrxigAAAKEfAAAAABEAAgAOAQAACAADAAAAAAAHAAAAAAAAAHhepW4=
'/*!*/;
SET TIMESTAMP=1795429808/*!*/;
SAVEPOINT `s`
/*!*/;
COMMIT/*!*/;
SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */ /*!*/;
DELIMITER ;
/*!50003 SET COMPLETION_TYPE=@OLD_COMPLETION_TYPE*/;
/*!50530 SET @@SESSION.PSEUDO_SLAVE_MODE=0*/;
