import { createTestDatabase, type TestDatabase } from '../../support/database.js';

/** A database whose `now()` is a time that the test sets. */
export interface ClockedDatabase extends TestDatabase {
  setTime(at: number): Promise<void>;
}

/**
 * Functions of the schema `clock`, before Postgres's own on the path of each session, return the test's time.
 * Statements that run alone are prepared, since planning them would take most of the test's time.
 */
export async function createClockedDatabase(): Promise<ClockedDatabase> {
  const db = await createTestDatabase();
  const session = await db.openSession();
  const { rows } = await session.query<{ name: string }>('select current_database() as name');
  await session.query(CLOCK.replaceAll('$database', rows[0]?.name ?? ''));
  // The service's connections set their own path.
  db.pool.on('connect', (client) => void client.query('set search_path = clock, pg_catalog, public'));
  const names = new Map<string, string>();
  const prepared = async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> => {
    const name = names.get(text) ?? `model${names.size}`;
    names.set(text, name);
    return (await db.pool.query({ name, text, values: values as unknown[] })).rows as Row[];
  };
  return Object.assign(db, {
    query: prepared,
    hot: prepared,
    async setTime(at: number) {
      await prepared('update clock.time set at = $1::timestamptz', [new Date(at).toISOString()]);
    },
  });
}

const CLOCK = `
create schema clock;
create table clock.time (at timestamptz not null);
insert into clock.time values (now());
create function clock.now() returns timestamptz language sql stable as 'select at from clock.time';
create function clock.clock_timestamp() returns timestamptz language sql stable as 'select at from clock.time';
alter database $database set plan_cache_mode = force_generic_plan;`;
