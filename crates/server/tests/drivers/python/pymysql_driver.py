"""PyMySQL: the text protocol only, no compression."""

import ssl
import pymysql
from pymysql.constants import CLIENT
from checks import *


def connect(**options):
    return pymysql.connect(host=HOST, port=PORT, user=USER, password=PASSWORD, database=SCHEMA, **options)


checks = Checks(connect)
checks.common()
secure = connect(ssl={"ca": CA, "check_hostname": False})
checks.tls(secure)
assert isinstance(secure._sock, ssl.SSLSocket)
several = connect(client_flag=CLIENT.MULTI_STATEMENTS)
cursor = several.cursor()
cursor.execute("SELECT 1; SELECT 'two'; DO 0")
equal(cursor.fetchall(), ((1,),))
cursor.nextset()
equal(cursor.fetchall(), (("two",),))
fails(1045, lambda: pymysql.connect(host=HOST, port=PORT, user=USER, password="wrong"))
streaming = connect(cursorclass=pymysql.cursors.SSCursor).cursor()
streaming.execute("SELECT id FROM accounts ORDER BY id")
equal([row[0] for row in streaming], [1, 2])
print("ok", pymysql.__version__)
