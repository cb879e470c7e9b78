import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '../../src/ids.js';
import { removeExpiredConsole } from '../../src/retention/expired-console.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

it('removes expired sessions and codes of the console, and keeps live ones', async () => {
  for (const minutes of [59, 61, 600]) {
    await db.query(
      `insert into console_sessions (id, token_hash, client_id, role, scopes, signed_in_by, address, last_seen_at)
       values ($1::uuid, decode($2, 'hex'), $1::uuid, 'viewer', '{}', 'link', '', now() - $3::int * interval '1 minute')`,
      [newId(), `0${minutes}`.padStart(8, '0'), minutes],
    );
    await db.query(
      `insert into console_codes (id, code_hash, client_id, role, scopes, expires_at)
       values ($1::uuid, decode($2, 'hex'), $1::uuid, 'viewer', '{}', now() + (60 - $3::int) * interval '1 minute')`,
      [newId(), `0${minutes}`.padStart(8, '0'), minutes],
    );
  }
  expect(await removeExpiredConsole(db, 1)).toBe(2);
  expect(await removeExpiredConsole(db, 10)).toBe(2);
  expect(await removeExpiredConsole(db, 10)).toBe(0);
  const [left] = await db.query(
    `select (select count(*)::int from console_sessions) as sessions, (select count(*)::int from console_codes) as codes`,
    [],
  );
  expect(left).toEqual({ sessions: 1, codes: 1 });
});
