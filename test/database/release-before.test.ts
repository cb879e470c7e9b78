import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createTestDatabase, readMigrations, type TestDatabase } from '../support/database.js';
import { readSchemaFacts, whatBreaks } from '../support/schema-facts.js';

// During a rolling update `migrate` has run, and processes of the release before go on (docs/operations.md). Each
// migration therefore keeps what the statements of the schema before it rely on.

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase({ migrations: [] });
});
afterEach(() => database.drop());

async function breaks(sql: string): Promise<string[]> {
  const before = await readSchemaFacts(database);
  await database.pool.query(sql);
  return whatBreaks(before, await readSchemaFacts(database));
}

test('every migration leaves the schema usable for the release before it', async () => {
  for (const { name, sql } of readMigrations()) expect([name, await breaks(sql)]).toEqual([name, []]);
});

describe('a migration breaks the release before if it', () => {
  beforeEach(async () => {
    await database.pool.query(`
      create type state as enum ('open', 'closed');
      create table clients (id int primary key);
      create table orders (id int primary key, client int, state state not null default 'open', note text, code text not null,
        constraint code_once unique (code))`);
  });

  test.each([
    ['drops a column', 'alter table orders drop column note', 'the column orders.note is gone'],
    ['drops a table', 'drop table clients', 'the column clients.id is gone'],
    ['renames a column', 'alter table orders rename note to remark', 'the column orders.note is gone'],
    ['changes a type', 'alter table orders alter note type varchar(9)', 'the column orders.note was text'],
    ['refuses null', 'alter table orders alter note set not null', 'the column orders.note no longer takes null'],
    ['drops a default', 'alter table orders alter state drop default', 'the column orders.state lost its default'],
    ['demands a new column', 'alter table orders add place text not null', 'the new column orders.place takes no null'],
    ['adds a check', 'alter table orders add check (id > 0)', 'orders has a new rule'],
    ['adds a foreign key', 'alter table orders add foreign key (client) references clients', 'orders has a new rule'],
    ['adds a unique index', 'create unique index on orders (note)', 'orders has a new rule'],
    ['drops what `on conflict` names', 'alter table orders drop constraint code_once', 'orders lost the rule'],
    ['replaces an enum', `alter type state rename value 'closed' to 'ended'`, 'the enum state lost closed'],
  ])('%s', async (_, sql, reason) => {
    expect(await breaks(sql)).toContainEqual(expect.stringContaining(reason));
  });
});

test('a migration may add a table, a column with a default or null, an index, and a value of an enum', async () => {
  await database.pool.query(
    `create type state as enum ('open'); create table orders (id int primary key, state state)`,
  );
  const additions = `
    alter type state add value 'closed';
    alter table orders add note text, add place text not null default 'here', alter state set default 'open';
    create index on orders (note);
    create table clients (id int primary key, code text not null unique, "order" int not null references orders);`;
  expect(await breaks(additions)).toEqual([]);
});
