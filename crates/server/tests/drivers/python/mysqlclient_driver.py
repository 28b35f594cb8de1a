"""mysqlclient: the C client library from Python; the text protocol, with compression."""

import MySQLdb
from MySQLdb.constants import CLIENT
from checks import *


def connect(**options):
    return MySQLdb.connect(
        host=HOST, port=PORT, user=USER, password=PASSWORD, database=SCHEMA, charset="utf8mb4", **options
    )


checks = Checks(connect)
checks.common()
secure = connect(ssl={"ca": CA})
checks.tls(secure)
assert secure.get_proto_info() == 10
compressed = connect(compress=True)
checks.types(compressed)
checks.big(compressed)
both = connect(compress=True, ssl={"ca": CA})
checks.big(both)
several = connect(client_flag=CLIENT.MULTI_STATEMENTS)
cursor = several.cursor()
cursor.execute("SELECT 1; SELECT 'two'; DO 0")
equal(cursor.fetchall(), ((1,),))
cursor.nextset()
equal(cursor.fetchall(), (("two",),))
cursor.nextset()
several.change_user(USER, PASSWORD, SCHEMA)
several.ping()
equal(several.stat().startswith("Uptime: "), True)
print("ok", MySQLdb.__version__)
