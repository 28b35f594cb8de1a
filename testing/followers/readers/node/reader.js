// zongji follows the log, rebuilds every table from the rows it is shown, and keeps its place for the next run.
//
// What to follow and where comes from the environment; `testing/followers/tests/readers.rs` says what each variable means.

import fs from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

// Modules are looked for beside the program; these are where they were installed.
const modules = createRequire(`${process.env.READER_MODULES}/`);
const { default: ZongJi } = await import(pathToFileURL(modules.resolve('@vlasky/zongji')));

const env = process.env;
// Numbers of column types, as table maps have them.
const BIT = 16;
const JSON_TYPE = 245;
const DATETIME2 = 18;
const TIMESTAMP2 = 17;
const TIME2 = 19;
const TEMPORAL = new Set([10, TIMESTAMP2, DATETIME2, TIME2]);

/** A value in the words that all readers' programs agree on. */
function text(column, value) {
  if (value === null) return 'NULL';
  if (column.type === BIT) return BigInt(`0x${value.toString('hex')}`).toString();
  if (column.type === JSON_TYPE || Buffer.isBuffer(value)) return Buffer.from(value).toString('hex');
  if (TEMPORAL.has(column.type)) return digits(column, value);
  // An ENUM's empty value for what was no member.
  if (value === undefined) return '';
  if (typeof value === 'number' || column.type === 246 || column.type === 8) return String(value);
  return Buffer.from(value).toString('hex');
}

/** Times with the digits that their column has: zongji leaves out a fraction of zeros. */
function digits(column, value) {
  const wanted = column.metadata?.decimals ?? 0;
  const [seconds, fraction = ''] = value.split('.');
  return wanted ? `${seconds}.${fraction.padEnd(wanted, '0').slice(0, wanted)}` : seconds;
}

const NAME = '((?:`(?:[^`]|``)+`|\\w+)(?:\\.(?:`(?:[^`]|``)+`|\\w+))?)';
const DROP = new RegExp(`^\\s*DROP\\s+TABLE\\s+(?:IF\\s+EXISTS\\s+)?${NAME}`, 'i');
const TRUNCATE = new RegExp(`^\\s*TRUNCATE\\s+(?:TABLE\\s+)?${NAME}`, 'i');
const RENAME = new RegExp(`^\\s*RENAME\\s+TABLE\\s+${NAME}\\s+TO\\s+${NAME}`, 'i');
const DROP_SCHEMA = new RegExp(`^\\s*DROP\\s+(?:DATABASE|SCHEMA)\\s+(?:IF\\s+EXISTS\\s+)?${NAME}`, 'i');

function full(name, schema) {
  const parts = name.match(/`(?:[^`]|``)+`|\w+/g).map((p) => (p[0] === '`' ? p.slice(1, -1).replaceAll('``', '`') : p));
  return parts.length === 2 ? parts.join('.') : `${schema}.${parts[0]}`;
}

/** Tables as a follower has them: by `id` where the first column is called so, else how often each row is there. */
class Tables {
  constructor(tables) {
    this.tables = tables;
  }

  row(map, values) {
    const cells = map.columns.map((column) => text(column, values[column.name]));
    const byId = map.columns[0].name === 'id';
    return [`${map.parentSchema}.${map.tableName}`, byId ? cells[0] : cells.join('\t'), cells.join('\t'), byId];
  }

  insert(map, values) {
    const [table, key, line, byId] = this.row(map, values);
    const rows = (this.tables[table] ??= {});
    if (byId && rows[key]) throw new Error(`${table}: row ${key} was there before it was inserted`);
    (rows[key] ??= []).push(line);
  }

  remove(map, values) {
    const [table, key, line] = this.row(map, values);
    const same = this.tables[table]?.[key];
    if (!same) throw new Error(`${table}: row ${line} is not there`);
    same.pop();
    if (same.length === 0) delete this.tables[table][key];
  }

  definition(schema, query) {
    let found;
    if ((found = RENAME.exec(query))) {
      const old = full(found[1], schema);
      if (this.tables[old]) this.tables[full(found[2], schema)] = this.tables[old];
      delete this.tables[old];
    } else if ((found = DROP.exec(query) ?? TRUNCATE.exec(query))) {
      delete this.tables[full(found[1], schema)];
    } else if ((found = DROP_SCHEMA.exec(query))) {
      const gone = full(found[1], '').slice(1);
      for (const table of Object.keys(this.tables)) if (table.startsWith(`${gone}.`)) delete this.tables[table];
    }
  }

  write(path) {
    const lines = Object.entries(this.tables).flatMap(([table, rows]) =>
      Object.values(rows).flatMap((same) => same.map((line) => `${table}\t${line}\n`)));
    fs.writeFileSync(path, lines.join(''));
  }
}

/** A GTID set that grows: started from a position, zongji keeps none of its own. */
class Gtids {
  constructor(text) {
    this.sets = new Map();
    for (const part of text.split(',').filter(Boolean)) {
      const [uuid, ...intervals] = part.trim().split(':');
      this.sets.set(uuid, intervals.map((interval) => interval.split('-').map(Number)).map(([a, b = a]) => [a, b]));
    }
  }

  add(gtid) {
    const [uuid, number] = [gtid.split(':')[0], Number(gtid.split(':')[1])];
    if (!this.sets.has(uuid)) this.sets.set(uuid, []);
    const intervals = this.sets.get(uuid);
    const last = intervals.at(-1);
    if (last && last[1] + 1 === number) last[1] = number;
    else intervals.push([number, number]);
  }

  toString() {
    return [...this.sets].map(([uuid, all]) => [uuid, ...all.map((i) => i.join('-'))].join(':')).join(',');
  }
}

function stored() {
  if (fs.existsSync(env.READER_STATE)) return JSON.parse(fs.readFileSync(env.READER_STATE, 'utf8'));
  const [filename, position, gtids] = env.READER_START.split(' ');
  return { filename, position: Number(position), gtids, tables: {} };
}

const state = stored();
const tables = new Tables(state.tables);
const login = { host: '127.0.0.1', port: Number(env.READER_PORT), user: env.READER_USER, password: env.READER_PASSWORD };
if (env.READER_TLS) login.ssl = { ca: fs.readFileSync(env.READER_TLS), verifyIdentity: false };
const zongji = new ZongJi({ ...login, dateStrings: true, timezone: 'Z', jsonStrings: true, supportBigNumbers: true });
const gtids = new Gtids(state.gtids);
let gtid;
let marked = false;

function fail(error) {
  console.error(error);
  process.exit(1);
}

function isMark(map, row) {
  return map.parentSchema === 'cdc' && map.tableName === 'marks' && String(row.id) === env.READER_MARK;
}

function done() {
  const { filename, position } = zongji.options;
  gtids.add(gtid);
  if (zongji.gtidSet && zongji.gtidSet !== gtids.toString()) fail(`zongji has ${zongji.gtidSet}, not ${gtids}`);
  Object.assign(state, { filename, position, gtids: gtids.toString() });
  fs.writeFileSync(env.READER_STATE, JSON.stringify(state));
  tables.write(env.READER_OUT);
  console.log(`ok ${filename} ${position} ${state.gtids}`);
  process.exit(0);
}

zongji.on('error', fail);
zongji.on('binlog', (event) => {
  const map = event.tableMap?.[event.tableId];
  switch (event.getTypeName()) {
    case 'Gtid':
      // An event group ends where the next begins.
      if (gtid) gtids.add(gtid);
      gtid = event.gtid;
      break;
    case 'WriteRows':
      for (const row of event.rows) {
        tables.insert(map, row);
        marked ||= isMark(map, row);
      }
      break;
    case 'DeleteRows':
      for (const row of event.rows) tables.remove(map, row);
      break;
    case 'UpdateRows':
      for (const { before, after } of event.rows) {
        tables.remove(map, before);
        tables.insert(map, after);
      }
      break;
    case 'Query':
      tables.definition(event.schema, event.query);
      break;
    case 'Xid':
      if (marked) done();
      break;
  }
});
const place = env.READER_BY === 'gtid' ? { gtidSet: state.gtids } : { filename: state.filename, position: state.position };
zongji.start({
  serverId: Number(env.READER_SERVER_ID),
  includeEvents: ['tablemap', 'writerows', 'updaterows', 'deleterows', 'query', 'xid', 'rotate', 'gtid'],
  ...place,
});
