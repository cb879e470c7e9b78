import pg from 'pg';
import { openExplained } from '../../bench/lists/plans.js';
import { fillPast } from '../../bench/past.js';
import { createTestDatabase } from './database.js';
import { makeClient, makeEndpoint } from './factories.js';

/** Rows of a test of plans: a million in the long lane (`npm run test:plans`). */
export const rowsOfPlans = (few: number) => (process.env.LONG ? 1_000_000 : few);

export type FilledDatabase = Awaited<ReturnType<typeof openFilled>>;

/**
 * A database with the past of one client and one endpoint, for the plans of statements.
 * @param events past events, each with its delivery and attempt
 * @param statements change it further, and analyze it
 */
export async function openFilled(events: number, statements: readonly string[]) {
  const db = await createTestDatabase();
  const explained = openExplained(db.url.reveal());
  const clientId = await makeClient(db);
  const endpointId = (await makeEndpoint(db, clientId)).id;
  const database = new pg.Client({ connectionString: db.url.reveal() });
  await database.connect();
  await fillPast(
    { database },
    { clients: [{ id: clientId, endpoints: [endpointId] }], endpointsEach: 1 },
    events,
    () => {},
  );
  for (const statement of statements) await database.query(statement);
  await database.end();
  return {
    ...{ db, explained, clientId, endpointId },
    async close() {
      await explained.close();
      await db.drop();
    },
  };
}
