-- All column types at their limits, while a reader follows.
SET NAMES utf8mb4;
SET time_zone = '+00:00';
SET SESSION sql_mode = 'NO_ENGINE_SUBSTITUTION';
CREATE DATABASE cdc DEFAULT CHARACTER SET utf8mb4;
USE cdc;
CREATE TABLE marks (id INT PRIMARY KEY);

CREATE TABLE numbers (
  id INT PRIMARY KEY,
  tiny TINYINT, utiny TINYINT UNSIGNED, small SMALLINT, usmall SMALLINT UNSIGNED,
  medium MEDIUMINT, umedium MEDIUMINT UNSIGNED, plain INT, uplain INT UNSIGNED,
  big BIGINT, ubig BIGINT UNSIGNED, flag BOOLEAN,
  single FLOAT, twice DOUBLE,
  price DECIMAL(10,2), huge DECIMAL(65,30), whole DECIMAL(20,0), part DECIMAL(9,9), uprice DECIMAL(8,3) UNSIGNED,
  bit1 BIT(1), bit10 BIT(10), bit64 BIT(64), born YEAR
);
INSERT INTO numbers VALUES
  (1, 127, 255, 32767, 65535, 8388607, 16777215, 2147483647, 4294967295, 9223372036854775807, 18446744073709551615, TRUE,
   1.5, 1.7976931348623157e308, 99999999.99, 99999999999999999999999999999999999.999999999999999999999999999999,
   99999999999999999999, 0.999999999, 99999.999, b'1', b'1111111111', ~0, 2155),
  (2, -128, 0, -32768, 0, -8388608, 0, -2147483648, 0, -9223372036854775808, 0, FALSE,
   -0.25, -2.2250738585072014e-308, -99999999.99, -99999999999999999999999999999999999.999999999999999999999999999999,
   -99999999999999999999, -0.999999999, 0, b'0', b'0', 0, 1901),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 0, 128, -1, 32768, -1, 8388608, -1, 2147483648, -1, 9223372036854775808, 5,
   3.4028235e38, 0.1, -0.01, 0.000000000000000000000000000001, -1, 0.000000001, 0.001, b'1', b'1000000001', 0x8000000000000001, 0),
  (5, 1, 1, 1, 1, 1, 1, 1, 1, 9007199254740993, 9007199254740993, 1,
   1e-10, 123456789.123456789, 1234567.89, -12345678901234567890.123456789, 42, 0.1, 12.5, b'1', b'10', 255, 2026);

CREATE TABLE texts (
  id INT PRIMARY KEY,
  fixed CHAR(10), vary VARCHAR(20), longer VARCHAR(300), old CHAR(5) CHARACTER SET latin1,
  older VARCHAR(50) CHARACTER SET latin1, plain VARCHAR(20) CHARACTER SET ascii, three VARCHAR(20) CHARACTER SET utf8mb3,
  exact VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
  fixed_bytes BINARY(4), bytes VARBINARY(20), more_bytes VARBINARY(300),
  tiny_text TINYTEXT, normal_text TEXT, medium_text MEDIUMTEXT, long_text LONGTEXT, latin_text TEXT CHARACTER SET latin1,
  tiny_blob TINYBLOB, normal_blob BLOB, medium_blob MEDIUMBLOB, long_blob LONGBLOB,
  choice ENUM('one','zwölf','three, four') , size ENUM('s','m','l') CHARACTER SET latin1,
  marks SET('a','b','ç','d e'), many SET('m00','m01','m02','m03','m04','m05','m06','m07','m08','m09','m10','m11','m12','m13','m14','m15')
);
INSERT INTO texts VALUES
  (1, 'ten chars!', 'größer als ascii', REPEAT('語', 300), 'äöüß', 'naïve café', 'ascii', 'drei €', 'Ünïcôdé 😀',
   x'00FF275C', x'000102FEFF', REPEAT(x'80', 300),
   'tiny 😀', 'text with ''quotes'', \\ and\nlines', REPEAT('mittel ', 10000), REPEAT('lang 語 ', 20000), 'Straße',
   x'00', x'FFFE00', REPEAT(x'00FF', 40000), REPEAT(x'0123456789ABCDEF', 40000),
   'zwölf', 'l', 'a,ç', 'm00,m15'),
  (2, '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', '', 'one', 's', '', ''),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, 'trail  ', 'trail  ', 'a\tb\0c', 'x', 'x', 'x', 'x', 'x', x'01', x'01', x'01', 'x', 'x', 'x', 'x', 'x', x'01', x'01', x'01', x'01',
   'three, four', 'm', 'a,b,ç,d e', 'm00,m01,m02,m03,m04,m05,m06,m07,m08,m09,m10,m11,m12,m13,m14,m15');

CREATE TABLE times (
  id INT PRIMARY KEY,
  day DATE, at TIME, at1 TIME(1), at3 TIME(3), at6 TIME(6),
  moment DATETIME, moment1 DATETIME(1), moment2 DATETIME(2), moment3 DATETIME(3), moment6 DATETIME(6),
  stamp TIMESTAMP NULL, stamp3 TIMESTAMP(3) NULL, stamp6 TIMESTAMP(6) NULL,
  made TIMESTAMP NOT NULL DEFAULT '2026-01-02 03:04:05'
);
INSERT INTO times (id, day, at, at1, at3, at6, moment, moment1, moment2, moment3, moment6, stamp, stamp3, stamp6) VALUES
  (1, '9999-12-31', '838:59:59', '838:59:58.9', '838:59:58.999', '838:59:58.999999', '9999-12-31 23:59:59', '9999-12-31 23:59:59.9',
   '9999-12-31 23:59:59.99', '9999-12-31 23:59:59.999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:07', '2038-01-19 03:14:07.999', '2038-01-19 03:14:07.999999'),
  (2, '1000-01-01', '-838:59:59', '-838:59:58.9', '-838:59:58.999', '-838:59:58.999999', '1000-01-01 00:00:00', '1000-01-01 00:00:00.0',
   '1000-01-01 00:00:00.01', '1000-01-01 00:00:00.001', '1000-01-01 00:00:00.000001', '1970-01-01 00:00:01', '1970-01-01 00:00:01.000', '1970-01-01 00:00:01.000001'),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  (4, '2024-02-29', '00:00:00', '-00:00:00.1', '-00:00:00.001', '-00:00:00.000001', '2024-02-29 12:34:56', '2024-02-29 12:34:56.7',
   '2024-02-29 12:34:56.78', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789012');
-- Dates that no calendar has.
INSERT INTO times (id, day, moment, moment3, stamp) VALUES
  (5, '0000-00-00', '0000-00-00 00:00:00', '0000-00-00 00:00:00.000', '0000-00-00 00:00:00'),
  (6, '2024-00-00', '2024-02-00 01:02:03', '2024-00-10 00:00:00.250', NULL);

CREATE TABLE documents (
  id INT PRIMARY KEY,
  document JSON,
  name VARCHAR(40) GENERATED ALWAYS AS (document->>'$.name') VIRTUAL,
  amount INT GENERATED ALWAYS AS (id * 10) STORED,
  hidden INT INVISIBLE DEFAULT 7,
  UNIQUE KEY (amount)
);
INSERT INTO documents (id, document) VALUES
  (1, '{"name": "größer", "list": [1, -2, 2.5, null, true, false, "x\\"y\\\\"], "deep": {"a": {"b": {"c": []}}}, "big": 9007199254740991}'),
  (2, '[]'), (3, '{}'), (4, NULL), (5, '"text"'), (6, '-7'), (7, 'null'), (8, 'true'), (9, '1.5e10'),
  (10, '[2147483648, -2147483649, 65536, -32769, 32767, 4294967296]');
INSERT INTO documents (id, document, hidden) VALUES
  (11, JSON_OBJECT('many', JSON_ARRAY(REPEAT('x', 70000), 1), 'name', '😀'), 8),
  (12, JSON_OBJECT('price', CAST(12.50 AS DECIMAL(10,2)), 'name', NULL), NULL);

CREATE TABLE pairs (a INT NOT NULL, b VARCHAR(10) NOT NULL, c INT, PRIMARY KEY (a, b));
INSERT INTO pairs VALUES (1, 'x', 1), (1, 'y', 2), (2, 'x', NULL);
CREATE TABLE keyless (a INT, b VARCHAR(20));
INSERT INTO keyless VALUES (1, 'one'), (1, 'one'), (2, NULL), (NULL, NULL);
