-- Changes, transactions that fail, large ones, rotations.
SET NAMES utf8mb4;
SET time_zone = '+00:00';
SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION';
USE cdc;
UPDATE numbers SET plain = plain - 1, price = price / 3, bit64 = bit64 ^ 5 WHERE id IN (1, 4, 5);
UPDATE numbers SET tiny = NULL, big = NULL, huge = NULL, born = NULL WHERE id = 2;
UPDATE numbers SET tiny = -1, big = -2, huge = -3.5, born = 1999, single = 0, twice = -0.5 WHERE id = 3;
UPDATE texts SET fixed = 'new', longer = NULL, marks = 'b', choice = 'one', medium_blob = x'00' WHERE id = 1;
UPDATE texts SET vary = 'ä', long_text = REPEAT('ö', 100000), long_blob = x'FF00' WHERE id = 3;
UPDATE times SET at6 = ADDTIME(at6, '00:00:00.5'), day = '2000-02-29' WHERE id = 4;
UPDATE times SET day = '0000-00-00', moment = NULL WHERE id = 1;
UPDATE documents SET document = JSON_SET(document, '$.name', 'smaller', '$.list[1]', 99) WHERE id = 1;
UPDATE documents SET hidden = 100 WHERE id > 9;
UPDATE pairs SET b = 'z', c = 5 WHERE a = 1 AND b = 'x';
UPDATE keyless SET b = 'two' WHERE a = 2;
UPDATE keyless SET a = 9 WHERE a = 1 LIMIT 1;
DELETE FROM keyless WHERE a IS NULL;
INSERT INTO numbers (id, plain) VALUES (50, 1), (51, 2), (52, 3);
UPDATE numbers SET id = id + 100 WHERE id > 50;
DELETE FROM numbers WHERE id = 152;
REPLACE INTO numbers (id, plain) VALUES (50, 10), (53, 11);
INSERT INTO numbers (id, plain) VALUES (53, 0), (54, 0) ON DUPLICATE KEY UPDATE plain = plain + 1;

BEGIN;
INSERT INTO numbers (id) VALUES (200);
UPDATE pairs SET c = 1000;
ROLLBACK;

BEGIN;
INSERT INTO numbers (id, plain) VALUES (201, 1);
SAVEPOINT one;
INSERT INTO numbers (id, plain) VALUES (202, 2);
UPDATE pairs SET c = 77 WHERE a = 2;
ROLLBACK TO one;
INSERT INTO numbers (id, plain) VALUES (203, 3);
SAVEPOINT two;
DELETE FROM numbers WHERE id = 201;
RELEASE SAVEPOINT two;
INSERT INTO pairs VALUES (3, 'both', 1);
COMMIT;

FLUSH BINARY LOGS;

-- Several tables in one statement.
UPDATE numbers n JOIN pairs p ON n.id = p.a SET n.usmall = 7, p.c = 8 WHERE p.b = 'z';
DELETE n, p FROM numbers n JOIN pairs p ON n.id = p.a WHERE p.b = 'y';

CREATE TABLE bulk (id INT PRIMARY KEY, filler VARCHAR(200), n INT);
INSERT INTO bulk VALUES (1, REPEAT('a', 200), 0), (2, REPEAT('b', 200), 0), (3, REPEAT('c', 200), 0), (4, REPEAT('d', 200), 0);
-- 8,192 rows, of which the last statement alone is larger than a log event and than a small commit.
INSERT INTO bulk SELECT id + 4, filler, 1 FROM bulk;
INSERT INTO bulk SELECT id + 8, filler, 2 FROM bulk;
INSERT INTO bulk SELECT id + 16, filler, 3 FROM bulk;
INSERT INTO bulk SELECT id + 32, filler, 4 FROM bulk;
INSERT INTO bulk SELECT id + 64, filler, 5 FROM bulk;
INSERT INTO bulk SELECT id + 128, filler, 6 FROM bulk;
INSERT INTO bulk SELECT id + 256, filler, 7 FROM bulk;
INSERT INTO bulk SELECT id + 512, filler, 8 FROM bulk;
INSERT INTO bulk SELECT id + 1024, filler, 9 FROM bulk;
INSERT INTO bulk SELECT id + 2048, filler, 10 FROM bulk;
BEGIN;
INSERT INTO bulk SELECT id + 4096, filler, 11 FROM bulk;
UPDATE bulk SET n = n + 100;
DELETE FROM bulk WHERE id % 4 = 1;
COMMIT;
FLUSH BINARY LOGS;
INSERT INTO numbers (id, plain) VALUES (300, 300);
