// A content service: its schema by all migrations, then collections, items, searches and accounts
// by its HTTP API.
'use strict';
const { spawn, spawnSync } = require('node:child_process');
const { createServer } = require('node:net');
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const assert = require('node:assert');

const modules = process.env.NODE_PATH;
if (process.argv[2] === 'version') {
  console.log('directus ' + require(join(modules, 'directus/package.json')).version);
  process.exit();
}
const environment = {
  ...process.env,
  DB_CLIENT: 'mysql',
  DB_DATABASE: process.env.DB_NAME,
  KEY: 'key',
  SECRET: 'secret',
  ADMIN_EMAIL: 'admin@example.com',
  ADMIN_PASSWORD: 'secret',
  LOG_LEVEL: 'warn',
  TELEMETRY: 'false',
  HOST: '127.0.0.1',
  EXTENSIONS_PATH: join(process.env.APPLICATION_FOLDER, 'extensions'),
  STORAGE_LOCAL_ROOT: join(process.env.APPLICATION_FOLDER, 'uploads'),
};
const program = join(modules, 'directus/cli.js');
assert(existsSync(program));

if (process.argv[2] === 'migrate') {
  const done = spawnSync('node', [program, 'bootstrap'], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  process.exit(done.status ?? 1);
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function main() {
  const port = await freePort();
  const server = spawn('node', [program, 'start'], {
    env: { ...environment, PORT: port },
    stdio: ['ignore', 2, 2],
  });
  let token;
  const ask = async (method, path, body, status = [200, 204]) => {
    const headers = {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    assert(status.includes(answer.status), `${method} ${path}: ${answer.status} ${text}`);
    return text && text[0] === '{' ? JSON.parse(text).data : text;
  };
  try {
    for (let tries = 0; ; tries++) {
      try {
        await ask('GET', '/server/ping');
        break;
      } catch (e) {
        if (tries > 600) throw e;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    token = (await ask('POST', '/auth/login', { email: 'admin@example.com', password: 'secret' }))
      .access_token;
    const id = {
      field: 'id',
      type: 'integer',
      meta: { hidden: true },
      schema: { is_primary_key: true, has_auto_increment: true },
    };
    await ask('POST', '/collections', {
      collection: 'trees',
      schema: {},
      meta: {},
      fields: [
        id,
        { field: 'name', type: 'string', schema: { is_nullable: false } },
        { field: 'height', type: 'decimal', schema: { numeric_precision: 8, numeric_scale: 2 } },
        { field: 'planted', type: 'dateTime', schema: {} },
        { field: 'notes', type: 'json', schema: {} },
      ],
    });
    await ask('POST', '/collections', {
      collection: 'forests',
      schema: {},
      meta: {},
      fields: [id, { field: 'name', type: 'string', schema: { is_unique: true } }],
    });
    await ask('POST', '/fields/trees', { field: 'forest', type: 'integer', schema: {} });
    await ask('POST', '/relations', {
      collection: 'trees',
      field: 'forest',
      related_collection: 'forests',
      meta: { one_field: 'trees' },
      schema: { on_delete: 'SET NULL' },
    });
    await ask('POST', '/fields/forests', {
      field: 'trees',
      type: 'alias',
      meta: { special: ['o2m'] },
    });
    const forest = await ask('POST', '/items/forests', { name: 'north' });
    await ask('POST', '/items/forests', { name: 'north' }, [400]);
    console.log('a second forest of a name: refused');
    await ask(
      'POST',
      '/items/trees',
      Array.from({ length: 60 }, (_, n) => ({
        name: `tree ${n}`,
        height: n + 0.25,
        planted: `2026-01-01T00:00:${String(n).padStart(2, '0')}`,
        notes: { n },
        forest: n % 3 ? forest.id : null,
      })),
    );
    const found = await ask(
      'GET',
      '/items/trees?filter[height][_gte]=50&filter[forest][name][_eq]=north&sort=-height&limit=3&fields=name,height,planted,notes,forest.name',
    );
    console.log('found:', JSON.stringify(found));
    console.log('search:', (await ask('GET', '/items/trees?search=tree%205&fields=name')).length);
    console.log(
      'sums:',
      JSON.stringify(
        await ask('GET', '/items/trees?aggregate[sum]=height&aggregate[count]=*&groupBy[]=forest'),
      ),
    );
    console.log(
      'years:',
      JSON.stringify(await ask('GET', '/items/trees?aggregate[count]=*&groupBy[]=year(planted)')),
    );
    const nested = await ask(
      'GET',
      '/items/forests?fields=name,trees.name&deep[trees][_limit]=2&deep[trees][_sort]=-name',
    );
    console.log('nested:', JSON.stringify(nested));
    await ask('PATCH', '/items/trees/5', { name: 'renamed' });
    await ask('PATCH', '/fields/trees/name', { type: 'string', schema: { max_length: 100 } });
    await ask('PATCH', '/fields/trees/height', { schema: { default_value: 1 } });
    await ask('DELETE', `/items/forests/${forest.id}`);
    console.log(
      'without forest:',
      (await ask('GET', '/items/trees?filter[forest][_null]=true&limit=-1&fields=id')).length,
    );
    const policy = await ask('POST', '/policies', {
      name: 'readers',
      app_access: false,
      admin_access: false,
    });
    await ask('POST', '/permissions', {
      policy: policy.id,
      collection: 'trees',
      action: 'read',
      fields: ['name'],
      permissions: { height: { _lt: 3 } },
    });
    const role = await ask('POST', '/roles', {
      name: 'reader',
      policies: { create: [{ policy: policy.id }], update: [], delete: [] },
    });
    await ask('POST', '/users', { email: 'reader@example.com', password: 'secret', role: role.id });
    const admin = token;
    token = (await ask('POST', '/auth/login', { email: 'reader@example.com', password: 'secret' }))
      .access_token;
    console.log('a reader sees:', JSON.stringify(await ask('GET', '/items/trees')));
    await ask('DELETE', '/items/trees/1', undefined, [403]);
    token = admin;
    console.log(
      'revisions:',
      (await ask('GET', '/revisions?filter[collection][_eq]=trees&limit=-1&fields=id')).length > 60,
    );
    await ask('GET', '/schema/snapshot');
    await ask('DELETE', '/items/trees', { query: { filter: { height: { _gt: 10 } }, limit: -1 } });
    console.log('trees left:', (await ask('GET', '/items/trees?limit=-1')).length);
    await ask('DELETE', '/collections/trees');
    await ask('DELETE', '/collections/forests');
  } finally {
    server.kill();
  }
}
main().then(
  () => process.exit(),
  (e) => {
    console.error(e.stack);
    console.error(e.message);
    process.exit(1);
  },
);
