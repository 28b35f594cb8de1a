"""python-mysql-replication follows the log, rebuilds every table from the rows it is shown, and keeps its place for the next run.

What to follow and where comes from the environment; `testing/followers/tests/readers.rs` says what each variable means.
"""

import json
import os
import pickle
import re
import sys

from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.constants import FIELD_TYPE
from pymysqlreplication.event import GtidEvent, QueryEvent, RotateEvent, XidEvent
from pymysqlreplication.gtid import Gtid, GtidSet
from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

NAME = r"((?:`(?:[^`]|``)+`|\w+)(?:\.(?:`(?:[^`]|``)+`|\w+))?)"
DROP = re.compile(rf"\s*DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?{NAME}", re.I)
TRUNCATE = re.compile(rf"\s*TRUNCATE\s+(?:TABLE\s+)?{NAME}", re.I)
RENAME = re.compile(rf"\s*RENAME\s+TABLE\s+{NAME}\s+TO\s+{NAME}", re.I)
DROP_SCHEMA = re.compile(rf"\s*DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?{NAME}", re.I)


def parts(name, schema):
    found = [part[1:-1].replace("``", "`") if part[0] == "`" else part for part in re.findall(r"`(?:[^`]|``)+`|\w+", name)]
    return tuple(found) if len(found) == 2 else (schema, found[0])


def digits(value, fsp):
    return f".{value:06d}"[: 1 + fsp] if fsp else ""


def plain(document):
    """A JSON document with texts for the bytes that python-mysql-replication leaves keys and strings."""
    if isinstance(document, dict):
        return {plain(key): plain(value) for key, value in document.items()}
    if isinstance(document, list):
        return [plain(value) for value in document]
    return document.decode() if isinstance(document, bytes) else document


def text(column, value, why):
    """A value in the words that all readers' programs agree on."""
    if value is None:
        if why == "empty set":
            return ""
        return "NULL" if why == "null" else "?"
    kind = column.type
    if kind == FIELD_TYPE.JSON:
        return json.dumps(plain(value), ensure_ascii=False, default=str).encode().hex()
    if kind == FIELD_TYPE.BIT:
        return str(int(value, 2))
    if kind == FIELD_TYPE.SET:
        return ",".join(member for member in column.set_values if member in value).encode().hex()
    if kind in (FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE):
        return repr(value)
    if kind == FIELD_TYPE.NEWDECIMAL:
        return f"{value:f}"
    if kind == FIELD_TYPE.TIME2:
        micros = round(value.total_seconds() * 1_000_000)
        seconds, fraction = divmod(abs(micros), 1_000_000)
        sign = "-" if micros < 0 else ""
        return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + digits(fraction, column.fsp)
    if kind in (FIELD_TYPE.DATETIME2, FIELD_TYPE.TIMESTAMP2):
        return value.strftime("%Y-%m-%d %H:%M:%S") + digits(value.microsecond, column.fsp)
    if isinstance(value, str):
        return value.encode().hex()
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


class Tables:
    """Tables as a follower has them: by `id` where there is such a column, else how often each row is there."""

    def __init__(self):
        self.tables = {}

    def of(self, event):
        return self.tables.setdefault((event.schema, event.table), {})

    def row(self, event, values, why):
        cells = [text(c, values[c.name], why.get(c.name, "null")) for c in event.columns]
        by_id = event.columns[0].name == "id"
        return (cells[0] if by_id else "\t".join(cells)), cells, by_id

    def insert(self, event, values, why):
        key, cells, by_id = self.row(event, values, why)
        table = self.of(event)
        if by_id and key in table:
            sys.exit(f"{event.schema}.{event.table}: row {key} was there before it was inserted")
        table.setdefault(key, []).append(cells)

    def delete(self, event, values, why):
        key, cells, _ = self.row(event, values, why)
        table = self.of(event)
        if key not in table:
            sys.exit(f"{event.schema}.{event.table}: row {cells} is not there")
        table[key].pop()
        if not table[key]:
            del table[key]

    def rows(self, event):
        for row in event.rows:
            if isinstance(event, WriteRowsEvent):
                self.insert(event, row["values"], row["none_sources"])
            elif isinstance(event, DeleteRowsEvent):
                self.delete(event, row["values"], row["none_sources"])
            else:
                self.delete(event, row["before_values"], row["before_none_sources"])
                self.insert(event, row["after_values"], row["after_none_sources"])

    def definition(self, schema, query):
        if found := RENAME.match(query):
            old, new = (parts(name, schema) for name in found.groups())
            if old in self.tables:
                self.tables[new] = self.tables.pop(old)
        elif found := DROP.match(query) or TRUNCATE.match(query):
            self.tables.pop(parts(found[1], schema), None)
        elif found := DROP_SCHEMA.match(query):
            gone = parts(found[1], "")[1]
            self.tables = {name: rows for name, rows in self.tables.items() if name[0] != gone}

    def write(self, path):
        with open(path, "w", encoding="utf-8") as out:
            for (schema, table), rows in self.tables.items():
                for same in rows.values():
                    for cells in same:
                        print(f"{schema}.{table}", *cells, sep="\t", file=out)


def stored(path):
    if os.path.exists(path):
        with open(path, "rb") as state:
            return pickle.load(state)
    start = os.environ["READER_START"].split(" ")
    return {"file": start[0], "position": int(start[1]), "gtids": start[2], "tables": Tables()}


def main():
    state = stored(os.environ["READER_STATE"])
    mark = os.environ["READER_MARK"]
    tables = state["tables"]
    gtids = GtidSet(state["gtids"])
    place = (
        {"auto_position": state["gtids"]}
        if os.environ["READER_BY"] == "gtid"
        else {"resume_stream": True, "log_file": state["file"], "log_pos": state["position"]}
    )
    login = {
        "host": "127.0.0.1",
        "port": int(os.environ["READER_PORT"]),
        "user": os.environ["READER_USER"],
        "passwd": os.environ["READER_PASSWORD"],
    }
    if os.environ.get("READER_TLS"):
        login["ssl"] = {"ca": os.environ["READER_TLS"], "check_hostname": False}
    stream = BinLogStreamReader(
        connection_settings=login,
        server_id=int(os.environ["READER_SERVER_ID"]),
        blocking=True,
        report_slave="python.example",
        slave_uuid="5d1f6bd1-3b6c-4d6e-8a52-000000000001",
        slave_heartbeat=1,
        verify_checksum=True,
        only_events=[GtidEvent, QueryEvent, RotateEvent, XidEvent, WriteRowsEvent, UpdateRowsEvent, DeleteRowsEvent],
        **place,
    )
    marked = False
    rows = 0
    gtid = None
    for event in stream:
        if isinstance(event, GtidEvent):
            # An event group may hold several statements: it ends where the next begins.
            if gtid:
                gtids += Gtid(gtid)
            gtid = event.gtid
        elif isinstance(event, QueryEvent):
            schema, query = (v.decode() if isinstance(v, bytes) else v for v in (event.schema, event.query))
            tables.definition(schema, query)
        elif isinstance(event, XidEvent):
            if marked:
                gtids += Gtid(gtid)
                break
        elif not isinstance(event, RotateEvent):
            tables.rows(event)
            rows += len(event.rows)
            marked = (event.schema, event.table) == ("cdc", "marks") and any(
                str(row["values"]["id"]) == mark for row in event.rows
            )
    state.update(file=stream.log_file, position=stream.log_pos, gtids=str(gtids))
    stream.close()
    with open(os.environ["READER_STATE"], "wb") as out:
        pickle.dump(state, out)
    tables.write(os.environ["READER_OUT"])
    print(f"ok {rows} rows, now at {state['file']} {state['position']} {state['gtids']}")


main()
