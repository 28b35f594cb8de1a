// mysql2 for node: text protocol and prepared statements, TLS, compression.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const mysql = require('mysql2/promise');

const common = {
  host: '127.0.0.1',
  port: Number(process.env.DRIVER_PORT),
  user: process.env.DRIVER_USER,
  password: process.env.DRIVER_PASSWORD,
  database: process.env.DRIVER_SCHEMA,
  supportBigNumbers: true,
  bigNumberStrings: true,
  dateStrings: true,
  jsonStrings: true,
};

const TYPES = [
  ['TINYINT', 127, -128],
  ['TINYINT UNSIGNED', 255, 0],
  ['SMALLINT', 32767, -32768],
  ['MEDIUMINT', 8388607, -8388608],
  ['INT', 2147483647, -2147483648],
  ['INT UNSIGNED', 4294967295, 0],
  ['BIGINT', '9223372036854775807', '-9223372036854775808'],
  ['BIGINT UNSIGNED', '18446744073709551615', 0],
  ['DECIMAL(30,10)', '12345678901234567890.0123456789', '-0.0000000001'],
  ['FLOAT', 1.5, -0.25],
  ['DOUBLE', 2.5e300, -2.5e-300],
  ['CHAR(10)', 'ten chars!', ''],
  ['VARCHAR(100)', 'größer als ascii: 語', "quote ' and \\"],
  ['VARBINARY(100)', Buffer.from([0, 1, 254, 255]), Buffer.alloc(0)],
  ['TEXT', 'text\nwith lines', ''],
  ['BLOB', Buffer.alloc(300, 0xfe), Buffer.alloc(0)],
  ['DATE', '9999-12-31', '1000-01-01'],
  ['TIME(6)', '838:59:58.999999', '-01:02:03.000001'],
  ['DATETIME(6)', '9999-12-31 23:59:59.999999', '1000-01-01 00:00:00.000001'],
  ['TIMESTAMP NULL', '2037-01-19 03:14:07', '1970-01-02 00:00:00'],
  ['YEAR', 2155, 1901],
  ['YEAR', 0, 1970],
  ['DECIMAL(65,30)', `${'9'.repeat(35)}.${'9'.repeat(30)}`, `-${'9'.repeat(35)}.${'9'.repeat(30)}`],
  ['DECIMAL(65,0)', '9'.repeat(65), `-${'9'.repeat(65)}`],
  ['BIT(1)', Buffer.from([1]), Buffer.from([0])],
  ['BIT(64)', Buffer.from('fffefdfcfbfaf980', 'hex'), Buffer.from('0000000000000001', 'hex')],
  ["ENUM('a','größer','c d')", 'größer', 'a'],
  ["SET('x','y','z')", 'x,z', ''],
  ['JSON', '{"a": [1, 2.5, null], "ö": "\\"quoted\\""}', '-7'],
  ['TIME', '-838:59:59', '00:00:00'],
  ['DATE', '0000-00-00', '2024-00-00'],
  ['DATETIME(3)', '0000-00-00 00:00:00.000', '2024-02-00 01:02:03.450'],
  ['TIMESTAMP(2) NULL', '0000-00-00 00:00:00.00', '2037-12-31 23:59:59.99'],
];

// Zero dates are for sessions that allow them.
const ZERO_DATES = "SET sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES'";

async function types(connection, run) {
  await connection.query(ZERO_DATES);
  const columns = TYPES.map(([type], i) => `c${i} ${type}`).join(', ');
  await connection.query('DROP TABLE IF EXISTS node_types');
  await connection.query(`CREATE TABLE node_types (id INT AUTO_INCREMENT PRIMARY KEY, ${columns})`);
  const names = TYPES.map((_, i) => `c${i}`).join(', ');
  const marks = TYPES.map(() => '?').join(', ');
  const rows = [TYPES.map((t) => t[1]), TYPES.map((t) => t[2]), TYPES.map(() => null)];
  for (const row of rows) {
    const [done] = await connection[run](`INSERT INTO node_types (${names}) VALUES (${marks})`, row);
    assert.strictEqual(done.affectedRows, 1);
  }
  const [found] = await connection[run](`SELECT ${names} FROM node_types WHERE id > ? ORDER BY id`, [0]);
  found.forEach((row, n) => {
    TYPES.forEach(([type], i) => {
      const value = row[`c${i}`];
      const shown = Buffer.isBuffer(value) || value === null ? value : String(value);
      const wanted = rows[n][i];
      const expected = Buffer.isBuffer(wanted) || wanted === null ? wanted : String(wanted);
      // In the binary protocol a midnight comes without its digits, and YEAR 0 as a number.
      const plain = (v) => (typeof v === 'string' ? v.replace(/^0000$/, '0').replace(/\.0+$/, '') : v);
      assert.deepStrictEqual(plain(shown), plain(expected), `${run} ${type}`);
    });
  });
}

async function fails(number, run) {
  await assert.rejects(run, (e) => e.errno === number || assert.fail(`${e.errno} instead of ${number}: ${e}`));
}

async function big(connection, run) {
  const blob = Buffer.alloc(17 << 20, 'some content');
  await connection.query('DROP TABLE IF EXISTS node_big');
  await connection.query('CREATE TABLE node_big (id INT PRIMARY KEY, b LONGBLOB)');
  await connection[run]('INSERT INTO node_big VALUES (1, ?)', [blob]);
  const [rows] = await connection[run]('SELECT b FROM node_big');
  assert.ok(blob.equals(rows[0].b), `${run}: a packet of 17 MiB came back changed`);
}

async function main() {
  const connection = await mysql.createConnection(common);
  await types(connection, 'query');
  await types(connection, 'execute');
  for (let i = 0; i < 50; i += 1) {
    const [rows] = await connection.execute('SELECT ? + 1 AS n, ? AS t', [i, `text ${i}`]);
    assert.strictEqual(Number(rows[0].n), i + 1);
    assert.strictEqual(rows[0].t, `text ${i}`);
  }
  await big(connection, 'query');
  await big(connection, 'execute');

  await connection.query('DROP TABLE IF EXISTS node_t');
  await connection.query('CREATE TABLE node_t (id INT PRIMARY KEY)');
  await connection.beginTransaction();
  await connection.execute('INSERT INTO node_t VALUES (?)', [1]);
  await connection.rollback();
  await connection.beginTransaction();
  await connection.execute('INSERT INTO node_t VALUES (?)', [2]);
  await connection.commit();
  assert.deepStrictEqual((await connection.query('SELECT id FROM node_t'))[0], [{ id: 2 }]);
  await fails(1062, () => connection.execute('INSERT INTO node_t VALUES (?)', [2]));
  await fails(1146, () => connection.query('SELECT * FROM missing'));
  await fails(1146, () => connection.execute('SELECT * FROM missing'));
  await fails(1064, () => connection.query('SELEKT 1'));
  await connection.changeUser({ user: common.user, password: common.password, database: common.database });
  await connection.ping();
  await connection.end();

  const several = await mysql.createConnection({ ...common, multipleStatements: true });
  const [results] = await several.query("SELECT 1 AS a; SELECT 'two' AS b; DO 0");
  assert.deepStrictEqual(results.slice(0, 2), [[{ a: '1' }], [{ b: 'two' }]]);
  await several.end();

  const ca = fs.readFileSync(process.env.DRIVER_CA);
  const ssl = { ca, checkServerIdentity: () => undefined };
  const secure = await mysql.createConnection({ ...common, ssl });
  assert.strictEqual((await secure.query('SELECT CURRENT_USER() AS u'))[0][0].u, `${common.user}@localhost`);
  assert.ok(secure.connection.stream.encrypted !== false);
  await secure.end();

  const compressed = await mysql.createConnection({ ...common, compress: true });
  await types(compressed, 'execute');
  await big(compressed, 'query');
  await compressed.end();

  const pool = mysql.createPool({ ...common, connectionLimit: 100 });
  const all = await Promise.all(Array.from({ length: 100 }, () => pool.getConnection()));
  const ids = await Promise.all(all.map((c) => c.query('SELECT CONNECTION_ID() AS id')));
  assert.strictEqual(new Set(ids.map(([rows]) => rows[0].id)).size, 100);
  all.forEach((c) => c.release());
  await pool.end();
  await fails(1045, () => mysql.createConnection({ ...common, password: 'wrong' }));
  console.log('ok mysql2', require('mysql2/package.json').version);
}

main().catch((e) => {
  console.error(e);
  process.exit(1);
});
