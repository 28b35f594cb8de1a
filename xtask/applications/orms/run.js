// TypeORM, Sequelize, Drizzle and Knex, each on tables of its own: migrations, relations,
// transactions, searches, upserts, and the schema read back.
'use strict';
require('reflect-metadata');
const { join } = require('node:path');
const modules = process.env.NODE_PATH;
if (process.argv[2] === 'version') {
  const names = ['typeorm', 'sequelize', 'drizzle-orm', 'knex'];
  console.log(
    names.map((n) => `${n} ${require(join(modules, n, 'package.json')).version}`).join(', '),
  );
  process.exit();
}
const { DB_HOST: host, DB_USER: user, DB_PASSWORD: password, DB_NAME: database } = process.env;
const port = Number(process.env.DB_PORT);
const where = { host, port, user, password, database };

const typeorm = require('typeorm');
const Author = new typeorm.EntitySchema({
  name: 'Author',
  tableName: 't_author',
  columns: {
    id: { type: Number, primary: true, generated: true },
    name: { type: String, length: 80, unique: true },
    born: { type: 'date', nullable: true },
    rank: { type: 'enum', enum: ['a', 'b'], default: 'a' },
    profile: { type: 'json', nullable: true },
    at: { type: 'datetime', createDate: true, precision: 6 },
  },
  relations: {
    books: { type: 'one-to-many', target: 'Book', inverseSide: 'author', cascade: true },
  },
});
const Book = new typeorm.EntitySchema({
  name: 'Book',
  tableName: 't_book',
  columns: {
    id: { type: 'bigint', primary: true, generated: true },
    title: { type: String },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    text: { type: 'longtext', nullable: true },
    removed: { type: 'datetime', deleteDate: true, nullable: true },
    version: { type: Number, version: true },
  },
  relations: {
    author: {
      type: 'many-to-one',
      target: 'Author',
      inverseSide: 'books',
      onDelete: 'CASCADE',
      nullable: true,
    },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: { name: 't_book_tag' }, cascade: true },
  },
  indices: [{ columns: ['title', 'price'] }],
});
const Tag = new typeorm.EntitySchema({
  name: 'Tag',
  tableName: 't_tag',
  columns: {
    id: { type: 'varchar', length: 36, primary: true, generated: 'uuid' },
    name: { type: String, unique: true },
  },
});
const source = () =>
  new typeorm.DataSource({
    type: 'mysql',
    ...where,
    username: user,
    entities: [Author, Book, Tag],
    synchronize: false,
  });

const { Sequelize, DataTypes, Op } = require('sequelize');
const sequelize = () => {
  const s = new Sequelize(database, user, password, {
    host,
    port,
    dialect: 'mysql',
    logging: false,
  });
  const User = s.define(
    's_user',
    {
      name: { type: DataTypes.STRING, unique: 'name' },
      data: DataTypes.JSON,
      born: DataTypes.DATEONLY,
      size: DataTypes.DECIMAL(10, 3),
      kind: DataTypes.ENUM('x', 'y'),
    },
    { paranoid: true },
  );
  const Task = s.define('s_task', {
    title: { type: DataTypes.STRING(200), allowNull: false },
    done: { type: DataTypes.BOOLEAN, defaultValue: false },
  });
  User.hasMany(Task, { onDelete: 'CASCADE', foreignKey: 'userId' });
  Task.belongsTo(User, { foreignKey: 'userId' });
  return { s, User, Task };
};

const knexOf = () => require('knex')({ client: 'mysql2', connection: where });

async function migrate() {
  const d = await source().initialize();
  await d.synchronize();
  await d.destroy();
  const { s } = sequelize();
  await s.sync();
  await s
    .getQueryInterface()
    .addColumn('s_tasks', 'weight', { type: DataTypes.INTEGER, defaultValue: 3 });
  await s
    .getQueryInterface()
    .changeColumn('s_tasks', 'title', { type: DataTypes.STRING(200), allowNull: false });
  await s.getQueryInterface().addIndex('s_tasks', ['title'], { name: 'by_title' });
  await s.sync({ alter: true });
  await s.close();
  const knex = knexOf();
  await knex.schema.createTable('k_tree', (t) => {
    t.increments();
    t.string('name').notNullable().unique();
    t.decimal('height', 8, 2);
    t.json('notes');
    t.timestamps(true, true);
    t.integer('parent').unsigned().references('id').inTable('k_tree').onDelete('SET NULL');
    t.enu('kind', ['oak', 'ash']);
  });
  await knex.schema.alterTable('k_tree', (t) => {
    t.string('name', 100).notNullable().alter();
    t.index(['kind', 'height']);
    t.renameColumn('notes', 'remarks');
  });
  await knex.destroy();
  const connection = await require('mysql2/promise').createConnection(where);
  await connection.query(
    'CREATE TABLE d_item (id serial AUTO_INCREMENT NOT NULL, name varchar(50) NOT NULL, price decimal(10,2), at timestamp(3) DEFAULT (now()), meta json, CONSTRAINT d_item_id PRIMARY KEY(id), CONSTRAINT name_u UNIQUE(name))',
  );
  await connection.end();
}

async function useTypeorm() {
  const d = await source().initialize();
  const authors = d.getRepository('Author');
  for (let n = 0; n < 5; n++)
    await authors.save({
      name: `author ${n}`,
      born: '1970-01-0' + (n + 1),
      profile: { n },
      books: [0, 1, 2].map((m) => ({ title: `book ${n}${m}`, price: `${n}.5` })),
    });
  const books = d.getRepository('Book');
  const first = await books.findOneBy({ title: 'book 00' });
  first.tags = [{ name: 'new' }, { name: 'old' }];
  await books.save(first);
  console.log(
    'typeorm relations:',
    (
      await authors.find({
        relations: { books: { tags: true } },
        order: { name: 'ASC', books: { title: 'ASC' } },
        take: 2,
      })
    )
      .map((a) => a.books.map((b) => b.title + b.tags.length).join())
      .join(';'),
  );
  const q = await authors
    .createQueryBuilder('a')
    .leftJoin('a.books', 'b')
    .select('a.name', 'name')
    .addSelect('SUM(b.price)', 'sum')
    .addSelect('COUNT(*)', 'n')
    .groupBy('a.id')
    .having('SUM(b.price) > 2')
    .orderBy('sum', 'DESC')
    .getRawMany();
  console.log('typeorm sums:', JSON.stringify(q));
  await authors.upsert({ name: 'author 1', rank: 'b' }, ['name']);
  await d
    .transaction(async (t) => {
      await t.getRepository('Author').delete({ name: 'author 4' });
      throw new Error('back');
    })
    .catch(() => {});
  await authors.delete({ name: 'author 3' });
  await books.softDelete({ title: 'book 21' });
  console.log(
    'typeorm left:',
    await authors.count(),
    await books.count(),
    await books.count({ withDeleted: true }),
    (await authors.findOneBy({ name: 'author 1' })).rank,
  );
  console.log(
    'typeorm lock:',
    (
      await d.transaction((t) =>
        t
          .getRepository('Book')
          .createQueryBuilder('b')
          .setLock('pessimistic_write')
          .where({ title: 'book 00' })
          .getOne(),
      )
    ).version,
  );
  const drift = await d.driver.createSchemaBuilder().log();
  console.log('typeorm drift:', drift.upQueries.map((u) => u.query).join(';'));
  await d.destroy();
}

async function useSequelize() {
  const { s, User, Task } = sequelize();
  for (let n = 0; n < 6; n++)
    await User.create(
      {
        name: `user ${n}`,
        data: { deep: { n } },
        born: '2000-02-0' + (n + 1),
        size: n / 3,
        kind: n % 2 ? 'x' : 'y',
        s_tasks: [{ title: `t${n}` }, { title: `u${n}`, done: true }],
      },
      { include: Task },
    );
  const users = await User.findAll({
    where: { [Op.or]: [{ name: { [Op.like]: '%4' } }, { 'data.deep.n': { [Op.gt]: 4 } }] },
    include: { model: Task, where: { done: true } },
    order: [['name', 'DESC']],
  });
  console.log(
    'sequelize found:',
    users.map((u) => `${u.name} ${u.size} ${u.s_tasks[0].title}`).join(';'),
  );
  await User.upsert({ name: 'user 1', kind: 'y' });
  await User.bulkCreate(
    [
      { name: 'user 2', kind: 'x' },
      { name: 'user 9', kind: 'x' },
    ],
    { updateOnDuplicate: ['kind'] },
  );
  const [user, made] = await User.findOrCreate({ where: { name: 'user 9' } });
  await user.destroy();
  console.log('sequelize left:', made, await User.count(), await User.count({ paranoid: false }));
  await s
    .transaction(async (t) => {
      await Task.destroy({ where: {}, transaction: t });
      throw new Error('back');
    })
    .catch(() => {});
  console.log(
    'sequelize kinds:',
    JSON.stringify(
      await User.findAll({
        attributes: ['kind', [s.fn('COUNT', s.col('id')), 'n']],
        group: 'kind',
        order: ['kind'],
        raw: true,
      }),
    ),
    await Task.count(),
  );
  const page = await User.findAndCountAll({
    include: Task,
    limit: 2,
    offset: 1,
    order: [
      ['name', 'ASC'],
      [Task, 'title', 'ASC'],
    ],
    distinct: true,
  });
  console.log(
    'sequelize page:',
    page.count,
    page.rows.map((u) => u.name + u.s_tasks.length).join(),
  );
  console.log(
    'sequelize table:',
    Object.entries(await s.getQueryInterface().describeTable('s_tasks'))
      .map(([n, c]) => `${n} ${c.type}`)
      .join(),
  );
  console.log(
    'sequelize keys:',
    (await s.getQueryInterface().showIndex('s_tasks')).map((i) => i.name).join(),
    (await s.getQueryInterface().getForeignKeyReferencesForTable('s_tasks'))
      .map((k) => k.referencedTableName)
      .join(),
  );
  await s.close();
}

async function useKnex() {
  const knex = knexOf();
  await knex('k_tree').insert(
    [1, 2, 3, 4].map((n) => ({
      name: `tree ${n}`,
      height: n,
      kind: n % 2 ? 'oak' : 'ash',
      remarks: JSON.stringify({ n }),
    })),
  );
  await knex('k_tree').insert({ name: 'tree 4', height: 9 }).onConflict('name').merge(['height']);
  await knex('k_tree').where('id', '>', 1).update({ parent: 1 });
  console.log(
    'knex rows:',
    JSON.stringify(
      await knex('k_tree as t')
        .leftJoin('k_tree as p', 'p.id', 't.parent')
        .select('t.name', 'p.name as parent', 't.height')
        .whereIn('t.kind', ['ash'])
        .orderBy('t.name'),
    ),
  );
  console.log(
    'knex json:',
    JSON.stringify(await knex('k_tree').whereJsonPath('remarks', '$.n', '>', 2).pluck('name')),
  );
  console.log(
    'knex union:',
    (
      await knex('k_tree')
        .select('name')
        .where('id', 1)
        .unionAll([knex('k_tree').select('name').where('id', 2)])
    ).length,
  );
  await knex.transaction(async (t) => {
    await t('k_tree').where('id', 1).forUpdate();
    await t('k_tree').where('id', 1).del();
  });
  console.log(
    'knex left:',
    JSON.stringify(await knex('k_tree').select('name', 'parent').orderBy('id')),
  );
  console.log(
    'knex columns:',
    Object.keys(await knex('k_tree').columnInfo())
      .sort()
      .join(),
    await knex.schema.hasColumn('k_tree', 'remarks'),
  );
  await knex.destroy();
}

async function useDrizzle() {
  const { drizzle } = require('drizzle-orm/mysql2');
  const {
    mysqlTable,
    serial,
    varchar,
    decimal,
    timestamp,
    json,
  } = require('drizzle-orm/mysql-core');
  const { eq, gt, sql, like, desc } = require('drizzle-orm');
  const item = mysqlTable('d_item', {
    id: serial('id').primaryKey(),
    name: varchar('name', { length: 50 }).notNull(),
    price: decimal('price', { precision: 10, scale: 2 }),
    at: timestamp('at', { fsp: 3 }),
    meta: json('meta'),
  });
  const connection = await require('mysql2/promise').createConnection(where);
  const db = drizzle(connection);
  await db
    .insert(item)
    .values(
      [1, 2, 3].map((n) => ({
        name: `item ${n}`,
        price: `${n}.25`,
        meta: { n },
        at: new Date(1e12),
      })),
    );
  await db
    .insert(item)
    .values({ name: 'item 3', price: '7' })
    .onDuplicateKeyUpdate({ set: { price: '7.50' } });
  console.log(
    'drizzle rows:',
    JSON.stringify(
      await db.select().from(item).where(gt(item.price, '2')).orderBy(desc(item.price)),
    ),
  );
  await db
    .transaction(async (t) => {
      await t.delete(item).where(eq(item.name, 'item 1'));
      t.rollback();
    })
    .catch(() => {});
  await db.delete(item).where(like(item.name, '%2'));
  console.log(
    'drizzle sum:',
    JSON.stringify(await db.select({ n: sql`count(*)`, sum: sql`sum(${item.price})` }).from(item)),
  );
  await connection.end();
}

const main =
  process.argv[2] === 'migrate'
    ? migrate
    : async () => {
        await useTypeorm();
        await useSequelize();
        await useKnex();
        await useDrizzle();
      };
main().then(
  () => process.exit(),
  (e) => {
    console.error(e.stack);
    console.error(e.message);
    process.exit(1);
  },
);
