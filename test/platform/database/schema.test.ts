import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Handle } from '../../../src/platform/database/database.js';
import { prismaFolder } from '../../../src/platform/database/migrate.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

let migrated: TestDatabase;
let declared: TestDatabase;
beforeAll(async () => {
  migrated = await createTestDatabase();
  const sql = await statementsOfSchema(migrated);
  declared = await createTestDatabase({ migrations: [{ name: 'schema.prisma', sql }] });
});
afterAll(() => Promise.all([migrated.drop(), declared.drop()]));

/** What Prisma would run on an empty database to make the schema of schema.prisma. */
async function statementsOfSchema({ url }: TestDatabase): Promise<string> {
  const content = await readFile(join(prismaFolder(), 'schema.prisma'), 'utf8');
  const { schemaChanges } = await import(pathToFileURL('scripts/schema-engine.mjs').href);
  return schemaChanges(url, null, content);
}

describe('the migrations make what schema.prisma declares', () => {
  it.each(['columns', 'indexes', 'constraints', 'enums'] as const)('%s', async (kind) => {
    const facts = await factsOf(migrated, kind);
    expect(facts.length).toBeGreaterThan(1);
    expect(facts).toEqual(await factsOf(declared, kind));
  });

  it('and the storage settings and unlogged tables that it cannot declare', async () => {
    expect(await factsOf(migrated, 'more')).toEqual(
      [
        'apis is unlogged',
        'deliveries is stored with autovacuum_vacuum_scale_factor=0.05',
        'attempts is stored with autovacuum_vacuum_scale_factor=0.05',
        'events is stored with autovacuum_vacuum_scale_factor=0.05',
        'outbox is stored with autovacuum_vacuum_scale_factor=0',
        'outbox is stored with autovacuum_vacuum_threshold=2000',
        'queue is stored with autovacuum_vacuum_scale_factor=0',
        'queue is stored with autovacuum_vacuum_threshold=2000',
        'workers is unlogged',
      ].sort(),
    );
    expect(await factsOf(declared, 'more')).toEqual([]);
  });
});

async function factsOf(db: Handle, kind: keyof typeof FACTS): Promise<string[]> {
  const rows = await db.query<{ fact: string }>(FACTS[kind], []);
  return rows.map(({ fact }) => fact).sort();
}

/** Sentences from Postgres's catalogs. The order of columns in a table does not matter. */
const FACTS = {
  columns: `
    select format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
             case when a.attnotnull then 'not null' end, pg_get_expr(d.adbin, d.adrelid)) as fact
      from pg_class c join pg_attribute a on a.attrelid = c.oid
           left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped`,
  indexes: `select indexdef as fact from pg_indexes where schemaname = 'public'`,
  constraints: `
    select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as fact
      from pg_constraint where connamespace = 'public'::regnamespace`,
  enums: `
    select format('%s %s', t.typname, string_agg(e.enumlabel, ' ' order by e.enumsortorder)) as fact
      from pg_type t join pg_enum e on e.enumtypid = t.oid group by t.typname`,
  more: `
    select format('%s is stored with %s', relname, option) as fact
      from pg_class cross join unnest(reloptions) option where relnamespace = 'public'::regnamespace
    union all
    select format('%s is unlogged', relname)
      from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relpersistence = 'u'
    union all
    select format('%s has the trigger %s', tgrelid::regclass, tgname) from pg_trigger where not tgisinternal
    union all
    select format('%s is a sequence', relname) from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`,
} as const;
