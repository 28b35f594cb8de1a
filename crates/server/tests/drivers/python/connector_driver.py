"""mysql-connector-python, both of its faces: pure Python, and over the C client library."""

import mysql.connector
from checks import *


def face(pure):
    def connect(**options):
        return mysql.connector.connect(
            host=HOST, port=PORT, user=USER, database=SCHEMA, use_pure=pure,
            **{"password": PASSWORD, "ssl_disabled": True, **options}
        )

    bare = lambda v: bytes(v) if isinstance(v, bytearray) else v
    checks = Checks(connect, value=bare)
    # The pure driver can't seal a password with the server's key: its first login has to be over TLS.
    connect(ssl_disabled=False, ssl_ca=CA).close()
    checks.common()
    secure = connect(ssl_disabled=False, ssl_ca=CA)
    checks.tls(secure)
    compressed = connect(compress=True)
    checks.big(compressed)

    # The same with prepared statements, executed again and again.
    prepared = Checks(connect, cursor=lambda c: c.cursor(prepared=True), value=bare)
    connection = connect()
    names = [line for line in TABLE.split() if line.startswith("c_")]
    marks = ", ".join(["%s"] * len(names))
    connection.cursor().execute("DELETE FROM everything")
    cursor = connection.cursor(prepared=True)
    for values in (HIGHEST, LOWEST, NULLS):
        cursor.execute(f"INSERT INTO everything ({', '.join(names)}) VALUES ({marks})", values)
    connection.commit()
    cursor = connection.cursor(prepared=True)
    cursor.execute(f"SELECT {', '.join(names)} FROM everything WHERE id > %s ORDER BY id", (0,))
    for row, expected in zip(cursor.fetchall(), (HIGHEST, LOWEST, NULLS)):
        for name, value, wanted in zip(names, row, expected):
            # The pure driver takes a YEAR, two bytes in the protocol, for a string (it is the last column), and leaves JSON
            # as it came.
            if pure and name == "c_json" and wanted is not None:
                value = bare(value).decode()
            if not (pure and name == "c_year"):
                equal(bare(value), wanted, f"prepared {name}")
    if pure:
        # It does not join the packets of a binary row beyond 16 MiB, so the row is looked at where it is.
        prepared.rows(connection, "INSERT INTO big VALUES (2, %s)", (b"some bytes" * 1_800_000,))
        digests = checks.rows(connection, "SELECT MD5(b) = MD5(REPEAT('some bytes', 1800000)) FROM big WHERE id = 2")
        equal(digests, [(1,)], "a packet of 17 MiB")
        connection.commit()
    else:
        prepared.big(connection)
    cursor = connection.cursor(prepared=True)
    for i in range(50):
        cursor.execute("SELECT %s + 1, %s", (i, f"text {i}"))
        equal(cursor.fetchall(), [(i + 1, f"text {i}")], "executed again")
    fails(1146, lambda: prepared.rows(connection, "SELECT * FROM missing WHERE id = %s", (1,)))

    connection.cmd_reset_connection()
    connection.cmd_change_user(USER, PASSWORD, SCHEMA)
    equal(Checks(connect, value=bare).rows(connection, "SELECT DATABASE()"), [(SCHEMA,)])
    connection.ping()
    fails(1045, lambda: connect(password="wrong"))


face(pure=True)
if mysql.connector.HAVE_CEXT:
    face(pure=False)
print("ok", mysql.connector.__version__, "with C" if mysql.connector.HAVE_CEXT else "")
