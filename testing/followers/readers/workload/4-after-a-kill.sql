-- What a server does that was killed and has started again.
SET NAMES utf8mb4;
SET time_zone = '+00:00';
SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION';
USE cdc;
UPDATE numbers SET plain = 7 WHERE id IN (1, 2, 3, 4, 5);
UPDATE texts SET normal_text = 'after', fixed_bytes = x'01020000' WHERE id IN (1, 2, 3, 4);
UPDATE documents SET document = '{"after": [1, {"a": "b"}]}' WHERE id = 2;
DELETE FROM times WHERE id = 3;
INSERT INTO times (id, day, at6) VALUES (7, '2026-11-22', '12:00:00.000001');
INSERT INTO keyless VALUES (77, 'after'), (77, 'after');
DELETE FROM keyless WHERE a = 2;
ALTER TABLE shapes ADD COLUMN late BIT(3) DEFAULT b'101';
UPDATE shapes SET a = a + 1;
INSERT INTO shapes (id, a) VALUES (5, -1);
UPDATE bulk SET n = -n WHERE id > 4000;
