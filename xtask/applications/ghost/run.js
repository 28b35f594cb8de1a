// A publishing platform: its schema by all migrations at the first start, then an owner, posts,
// tags, members and pages by its HTTP API and as a reader gets them.
'use strict';
const { spawn } = require('node:child_process');
const { createServer } = require('node:net');
const { cpSync, mkdirSync } = require('node:fs');
const { dirname, join } = require('node:path');
const assert = require('node:assert');

const root = dirname(process.env.NODE_PATH);
if (process.argv[2] === 'version') {
  console.log('ghost ' + require(join(root, 'package.json')).version);
  process.exit();
}
const content = join(process.env.APPLICATION_FOLDER, 'content');
if (process.argv[2] === 'migrate') cpSync(join(root, 'content'), content, { recursive: true });
for (const name of ['data', 'logs', 'images', 'public', 'settings'])
  mkdirSync(join(content, name), { recursive: true });

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function main() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = spawn('node', ['index.js'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: {
      ...process.env,
      NODE_ENV: 'production',
      url,
      server__port: port,
      server__host: '127.0.0.1',
      database__client: 'mysql',
      database__connection__host: process.env.DB_HOST,
      database__connection__port: process.env.DB_PORT,
      database__connection__user: process.env.DB_USER,
      database__connection__password: process.env.DB_PASSWORD,
      database__connection__database: process.env.DB_NAME,
      paths__contentPath: content,
      mail__transport: 'stub',
      security__staffDeviceVerification: 'false',
      logging__level: 'error',
      privacy__useUpdateCheck: 'false',
    },
  });
  let ended = false;
  server.on('exit', () => {
    ended = true;
  });
  let cookie;
  const ask = async (method, path, body, status = [200, 201, 204]) => {
    const headers = { 'content-type': 'application/json', origin: url, ...(cookie && { cookie }) };
    const answer = await fetch(url + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      redirect: 'manual',
    });
    const text = await answer.text();
    assert(
      status.includes(answer.status),
      `${method} ${path}: ${answer.status} ${text.slice(0, 2000)}`,
    );
    cookie ??= answer.headers.get('set-cookie')?.split(';')[0];
    return text.startsWith('{') ? JSON.parse(text) : text;
  };
  const admin = '/ghost/api/admin';
  try {
    for (let tries = 0; ; tries++) {
      assert(!ended, 'ghost ended at its start');
      try {
        await ask('GET', `${admin}/site/`);
        break;
      } catch (e) {
        if (tries > 2400) throw e;
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    if (process.argv[2] === 'migrate') return;
    const login = { email: 'owner@example.com', password: 'long and secret 1' };
    await ask('POST', `${admin}/authentication/setup/`, {
      setup: [{ ...login, name: 'Owner', blogTitle: 'Trees' }],
    });
    cookie = undefined;
    await ask('POST', `${admin}/session/`, { username: login.email, password: login.password });
    const posts = [];
    for (let n = 0; n < 20; n++) {
      const post = {
        title: `Post ${n}`,
        status: n % 2 ? 'published' : 'draft',
        tags: [{ name: n % 3 ? 'oak' : 'ash' }],
        lexical: JSON.stringify({
          root: {
            children: [
              {
                type: 'paragraph',
                version: 1,
                children: [{ type: 'text', text: `About tree ${n}`, version: 1 }],
              },
            ],
            type: 'root',
            version: 1,
          },
        }),
      };
      posts.push((await ask('POST', `${admin}/posts/?source=html`, { posts: [post] })).posts[0]);
    }
    const list = await ask(
      'GET',
      `${admin}/posts/?filter=tag:oak%2Bstatus:published&limit=5&order=title%20asc&include=tags,authors`,
    );
    console.log('posts:', list.posts.map((p) => p.title).join(), list.meta.pagination.total);
    const edited = { title: 'Renamed', updated_at: posts[1].updated_at, tags: [{ name: 'elm' }] };
    console.log(
      'renamed:',
      (await ask('PUT', `${admin}/posts/${posts[1].id}/`, { posts: [edited] })).posts[0].title,
    );
    await ask(
      'PUT',
      `${admin}/posts/${posts[1].id}/`,
      { posts: [{ title: 'x', updated_at: '2000-01-01T00:00:00.000Z' }] },
      [409],
    );
    const page = await ask('GET', '/');
    console.log(
      'front page has:',
      page.includes('Post 19'),
      (await ask('GET', '/renamed/', undefined, [200, 301, 404])) !== '',
    );
    for (let n = 0; n < 10; n++)
      await ask('POST', `${admin}/members/`, {
        members: [{ email: `m${n}@example.com`, name: `Member ${n}`, labels: [{ name: 'few' }] }],
      });
    const members = await ask('GET', `${admin}/members/?search=ember%207&limit=all`);
    console.log('members:', members.members.map((m) => m.email).join());
    console.log(
      'labelled:',
      (await ask('GET', `${admin}/members/?filter=label:few&limit=all&order=email%20asc`)).members
        .length,
    );
    await ask('GET', `${admin}/stats/member_count/`);
    await ask('GET', `${admin}/members/stats/count/`, undefined, [200, 404]);
    await ask('GET', `${admin}/tags/?limit=all&include=count.posts&order=name%20asc`);
    await ask('GET', `${admin}/users/?include=count.posts,roles`);
    await ask('GET', `${admin}/actions/?limit=50&include=actor,resource`);
    await ask('DELETE', `${admin}/posts/${posts[2].id}/`);
    await ask('DELETE', `${admin}/posts/?filter=status:draft`);
    console.log(
      'posts left:',
      (await ask('GET', `${admin}/posts/?limit=all`)).meta.pagination.total,
    );
    await ask('GET', '/rss/');
    await ask('GET', '/sitemap-posts.xml');
  } finally {
    server.kill();
  }
}
main().then(
  () => process.exit(),
  (e) => {
    console.error(e.stack);
    console.error(e.message.split('\n')[0]);
    process.exit(1);
  },
);
