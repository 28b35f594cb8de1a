-- A schema as it grows: parts of it can't be taken.
/*!40101 SET NAMES utf8mb4 */;
SET FOREIGN_KEY_CHECKS=0;
CREATE TABLE `posts` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `title` varchar(200) NOT NULL COMMENT 'with, commas; (and more)',
  `body` longtext,
  PRIMARY KEY (`id`),
  FULLTEXT KEY `words` (`title`, `body`),
  KEY `t` (`title`(20))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
/*!50100 PARTITION BY RANGE (`id`)
(PARTITION p0 VALUES LESS THAN (1000),
 PARTITION p1 VALUES LESS THAN MAXVALUE) */;

INSERT INTO `posts` VALUES (1, 'CREATE TABLE x;', 'y');

CREATE TABLE `sessions` (`id` char(32) PRIMARY KEY, `data` varchar(1000)) ENGINE=MEMORY;
CREATE TABLE `places` (id INT PRIMARY KEY, at GEOMETRY NOT NULL, SPATIAL KEY (at));
ALTER TABLE `posts` ADD `at` DATETIME, ADD FULLTEXT KEY (`title`), ADD KEY (`at`);
CREATE TABLE `odd` (a INT) ENGINE=TokuDB;
ALTER TABLE `odd` ADD b INT;
CREATE TABLE `word` (`t` varchar(10)) COLLATE utf8mb4_klingon_ci;
CREATE TABLE `visits` (`at` TIMESTAMP NULL, `day` DATE AS (DATE(`at`)), `hour` INT AS (HOUR(`at`)) STORED);
DELIMITER ;;
CREATE FUNCTION `twice`(n INT) RETURNS INT DETERMINISTIC
BEGIN
  RETURN 2 * n;
END;;
DELIMITER ;
CREATE TABLE `good` (a INT); SET FOREIGN_KEY_CHECKS=1;
CREATE TABLE `better` (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES `good` (a))
