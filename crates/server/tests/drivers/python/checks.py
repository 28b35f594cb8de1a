"""What every Python driver is asked to do; a driver's own program says how it connects."""

import datetime
import decimal
import os
import sys

HOST = "127.0.0.1"
PORT = int(os.environ["DRIVER_PORT"])
USER = os.environ["DRIVER_USER"]
PASSWORD = os.environ["DRIVER_PASSWORD"]
CA = os.environ["DRIVER_CA"]
SCHEMA = os.environ["DRIVER_SCHEMA"]

TABLE = """CREATE TABLE everything (
    id INT AUTO_INCREMENT PRIMARY KEY,
    c_tiny TINYINT, c_utiny TINYINT UNSIGNED, c_small SMALLINT, c_medium MEDIUMINT, c_int INT,
    c_uint INT UNSIGNED, c_big BIGINT, c_ubig BIGINT UNSIGNED, c_decimal DECIMAL(30,10), c_float FLOAT,
    c_double DOUBLE, c_char CHAR(10), c_varchar VARCHAR(100), c_binary BINARY(4), c_varbinary VARBINARY(100),
    c_text TEXT, c_blob BLOB, c_date DATE, c_time TIME(6), c_datetime DATETIME(6), c_timestamp TIMESTAMP NULL,
    c_huge DECIMAL(65,30), c_enum ENUM('a','größer','c d'), c_json JSON, c_year YEAR)"""

HIGHEST = (
    127, 255, 32767, 8388607, 2147483647,
    4294967295, 2**63 - 1, 2**64 - 1, decimal.Decimal("12345678901234567890.0123456789"), 1.5,
    2.5e300, "ten chars!", "größer als ascii: 語", b"\x00\xff'\\", b"\x00\x01\xfe\xff",
    "text with 'quotes', \\ and\nlines", b"\x00\xff" * 100, datetime.date(9999, 12, 31),
    datetime.timedelta(hours=838, minutes=59, seconds=58),
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), datetime.datetime(2037, 1, 19, 3, 14, 7),
    decimal.Decimal("9" * 35 + "." + "9" * 30), "größer", '{"a": [1, 2.5, null], "ö": "\\"quoted\\""}', 2155,
)
LOWEST = (
    -128, 0, -32768, -8388608, -2147483648,
    0, -(2**63), 0, decimal.Decimal("-0.0000000001"), -0.25,
    -2.5e-300, "", "", b"\x00\x00\x00\x00", b"",
    "", b"", datetime.date(1000, 1, 1),
    -datetime.timedelta(days=1),
    datetime.datetime(1000, 1, 1), datetime.datetime(1970, 1, 2),
    decimal.Decimal("-" + "9" * 35 + "." + "9" * 30), "a", "-7", 1901,
)
NULLS = (None,) * len(HIGHEST)


def equal(found, expected, what=""):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


def fails(number, run):
    """`run` has to fail with this error number."""
    try:
        run()
    except Exception as e:
        equal(getattr(e, "errno", None) or e.args[0], number, "error")
    else:
        sys.exit(f"no error {number}")


class Checks:
    """`connect(**options)` gives a DB-API connection; `cursor(connection)` a cursor."""

    def __init__(self, connect, cursor=lambda c: c.cursor(), value=lambda v: v):
        self.connect, self.cursor, self.value = connect, cursor, value

    def rows(self, connection, sql, values=None):
        cursor = self.cursor(connection)
        cursor.execute(sql, values) if values is not None else cursor.execute(sql)
        rows = [tuple(self.value(v) for v in row) for row in cursor.fetchall()] if cursor.description else []
        cursor.close()
        return rows

    def types(self, connection):
        self.rows(connection, "DROP TABLE IF EXISTS everything")
        self.rows(connection, TABLE)
        names = ", ".join(line for line in TABLE.split() if line.startswith("c_"))
        marks = ", ".join(["%s"] * len(HIGHEST))
        for values in (HIGHEST, LOWEST, NULLS):
            self.rows(connection, f"INSERT INTO everything ({names}) VALUES ({marks})", values)
        found = self.rows(connection, f"SELECT {names} FROM everything ORDER BY id")
        for row, expected in zip(found, (HIGHEST, LOWEST, NULLS)):
            for name, value, wanted in zip(names.split(", "), row, expected):
                equal(value, wanted, name)
        connection.commit()

    def edges(self, connection):
        """What has no value of its own in Python, or one for each driver, as text or as a number."""
        self.rows(connection, "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'")
        self.rows(connection, "DROP TABLE IF EXISTS edges")
        self.rows(connection, "CREATE TABLE edges (a BIT(64), b BIT(1), s SET('x','y','z'), d DATE, m DATETIME(3), t TIME(6), y YEAR)")
        values = (0xFFFEFDFCFBFAF980, 1, "x,z", "0000-00-00", "2024-02-00 01:02:03.450", "-838:59:58.999999", 0)
        self.rows(connection, "INSERT INTO edges VALUES (%s, %s, %s, %s, %s, %s, %s)", values)
        shown = "a + 0, b + 0, s + 0, CAST(d AS CHAR), CAST(m AS CHAR), CAST(t AS CHAR), y + 0"
        found = self.rows(connection, f"SELECT {shown} FROM edges WHERE s = %s AND d = %s", ("x,z", "0000-00-00"))
        equal(found, [(0xFFFEFDFCFBFAF980, 1, 5, "0000-00-00", "2024-02-00 01:02:03.450", "-838:59:58.999999", 0)], "edges")
        connection.commit()

    def transactions(self, connection):
        count = lambda: self.rows(connection, "SELECT COUNT(*) FROM accounts")[0][0]
        self.rows(connection, "DROP TABLE IF EXISTS accounts")
        self.rows(connection, "CREATE TABLE accounts (id INT PRIMARY KEY, amount INT)")
        self.rows(connection, "INSERT INTO accounts VALUES (1, 100), (2, 0)")
        connection.rollback()
        equal(count(), 0, "after rollback")
        self.rows(connection, "INSERT INTO accounts VALUES (1, 100), (2, 0)")
        connection.commit()
        equal(count(), 2, "after commit")
        cursor = self.cursor(connection)
        cursor.execute("UPDATE accounts SET amount = amount + 1 WHERE id = %s", (1,))
        equal(cursor.rowcount, 1, "changed rows")
        connection.commit()

    def errors(self, connection):
        fails(1062, lambda: self.rows(connection, "INSERT INTO accounts VALUES (1, 1)"))
        fails(1146, lambda: self.rows(connection, "SELECT * FROM missing"))
        fails(1064, lambda: self.rows(connection, "SELEKT 1"))
        fails(1054, lambda: self.rows(connection, "SELECT missing FROM accounts"))
        connection.rollback()

    def big(self, connection):
        blob = bytes(range(256)) * (17 << 12)
        self.rows(connection, "DROP TABLE IF EXISTS big")
        self.rows(connection, "CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)")
        self.rows(connection, "INSERT INTO big VALUES (1, %s)", (blob,))
        connection.commit()
        if self.rows(connection, "SELECT b FROM big")[0][0] != blob:
            sys.exit("a packet of 17 MiB came back changed")
        connection.commit()

    def many(self):
        connections = [self.connect() for _ in range(100)]
        ids = {self.rows(c, "SELECT CONNECTION_ID()")[0][0] for c in connections}
        equal(len(ids), 100, "connections")
        for connection in connections:
            connection.close()

    def tls(self, connection):
        equal(self.rows(connection, "SELECT 1")[0][0], 1)
        equal(self.rows(connection, "SELECT CURRENT_USER()")[0][0], f"{USER}@localhost")

    def common(self):
        connection = self.connect()
        self.types(connection)
        self.edges(connection)
        self.transactions(connection)
        self.errors(connection)
        self.big(connection)
        connection.close()
        self.many()
