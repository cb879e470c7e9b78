import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from '@jest/globals';
import { revokeClient, revokeSecret, rotateSecret } from '../../src/auth/clients.js';
import { listSigningKeys, rotateSigningKey } from '../../src/auth/signing-keys.js';
import { LiveWorkers } from '../../src/delivery/live-workers.js';
import { EndpointHours } from '../../src/endpoints/hours.js';
import { expireAudit } from '../../src/platform/audit.js';
import { rowOf } from '../../src/platform/database/database.js';
import { Heartbeat } from '../../src/platform/heartbeat.js';
import {
  lowestIdBefore,
  removeExpiredEvents,
  removeExpiredRows,
  TABLES_WITH_EXPIRY,
} from '../../src/platform/retention.js';
import { eraseClient } from '../../src/transfers/erase-client.js';
import { expireTransfers } from '../../src/transfers/expire-transfers.js';
import { openAuthApi } from '../support/auth-api.js';
import { runCommand } from '../support/command.js';
import { signedInBrowser } from '../support/console.js';
import { createTestDispatchers } from '../support/dispatcher.js';
import {
  BY_OPERATOR,
  ENDPOINT_SECRET,
  fakeSender,
  MASTER_KEY,
  masterKeys,
  OPERATOR,
  refusedBy,
} from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

const HOUR = 3_600_000;
const Real = Date;

/** The wall clock of this process, and of nothing else, is `ahead` ms ahead. */
function shiftClock(ahead: number): void {
  globalThis.Date = class extends Real {
    constructor(...args: ConstructorParameters<typeof Real> | []) {
      super(...((args.length === 0 ? [Real.now() + ahead] : args) as ConstructorParameters<typeof Real>));
    }

    static override now = () => Real.now() + ahead;
  } as DateConstructor;
}

const auth = await openAuthApi({ dependencies: { masterKeys } });
afterEach(() => {
  globalThis.Date = Real;
});

/** Times that are not of the moment at which their row is written. */
const OTHER = ['attempts.started_at', 'endpoint_hours.hour', 'limit_uses.ends_at', 'recoveries.since'];

/** Every stored time, and the time of every id, that is more than ten minutes from Postgres's clock. */
async function strangeTimes(): Promise<string[]> {
  const columns = await auth.database.query<{ relation: string; name: string; type: string }>(
    `select c.table_name::text as relation, c.column_name::text as name, c.data_type::text as type
       from information_schema.columns c
      where c.table_schema = 'public' and (c.data_type = 'timestamp with time zone' or c.data_type = 'uuid' and c.column_name = 'id')`,
    [],
  );
  const found = await Promise.all(
    columns
      .filter(({ relation, name }) => !relation.startsWith('_') && !OTHER.includes(`${relation}.${name}`))
      .map(async ({ relation, name, type }) => {
        const time =
          type === 'uuid'
            ? `to_timestamp(('x' || replace(left(${name}::text, 13), '-', ''))::bit(48)::bigint / 1000.0)`
            : name;
        const isTimed = type === 'uuid' ? `substr(${name}::text, 15, 1) = '7'` : 'true';
        const [row] = await auth.database.query<{ strange: boolean }>(
          `select exists (select from ${relation} where ${isTimed} and abs(extract(epoch from ${time} - now())) > 600) as strange`,
          [],
        );
        return row?.strange ? [`${relation}.${name}`] : [];
      }),
  );
  return found.flat();
}

test.each([-1, 1])('a process whose clock is %d h ahead stores and compares the times of Postgres', async (hours) => {
  const { database, api } = auth;
  shiftClock(hours * HOUR);
  const credentials = await auth.client();
  const clientId = credentials.client_id;
  const { body: token } = await auth.token(credentials);
  const call = async (method: string, path: string, json?: object, headers = {}) => {
    const sent = { ...(json && { json }), headers: { Authorization: `Bearer ${token.access_token}`, ...headers } };
    const reply = await api.call(method, path, sent);
    expect([method, path, reply.status < 300]).toEqual([method, path, true]);
    return reply.body;
  };

  const first = await call('POST', '/webhook-endpoints', endpointRequest({ secret: ENDPOINT_SECRET }));
  const path = `/webhook-endpoints/${first.webhookId}`;
  const statement = await call('GET', `${path}/statement`);
  expect(Date.parse(statement.since)).toBe(Date.parse(first.created_at));
  await call('PATCH', path, { description: 'changed' });
  await call('PATCH', path, { enabled: false });
  await call('PATCH', path, { enabled: true });
  const { id } = await call('POST', '/transfers', transferRequest(), { 'Idempotency-Key': randomUUID() });
  await call('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' });
  await call('POST', '/transfers', transferRequest({ destination: { name: 'A', account: 'SANDBOX-COMPLETE' } }));
  // A second endpoint of the same URL: what sleeps at the first alone is pending there alone.
  const second = await call('POST', '/webhook-endpoints', endpointRequest());
  const browser = await signedInBrowser(auth, credentials);
  const { text } = await browser.get(`/console/endpoints/${first.webhookId}/new-secret`);
  expect(text.includes('Pending at the first endpoint alone: 1 delivery')).toBe(true);
  expect((await browser.get('/console')).text).not.toMatch(/\d h ago|in \d+ (h|min)/);
  const shown = async (query: string) => (await browser.get(`/console/transfers?${query}`)).text.includes(id);
  expect([await shown('created_after=10+min'), await shown('created_before=10+min')]).toEqual([true, false]);
  await call('POST', '/console-sessions', {});
  await call('POST', `${path}/checks`);

  const dispatchers = createTestDispatchers(database);
  const [event] = await database.prisma.event.findMany({ where: { clientId }, include: { deliveries: true } });
  const delivery = event?.deliveries[0];
  const { dispatcher } = dispatchers.open(fakeSender(() => refusedBy(500)));
  dispatcher.start();
  await waitFor('the attempts', async () => {
    const row = await database.prisma.delivery.findUniqueOrThrow({ where: { id: delivery!.id } });
    return row.attemptCount === 2 && row.asleep;
  });
  await dispatchers.stop();
  await call('POST', `/deliveries/${delivery!.id}/retry`);
  await database.query(`update deliveries set status = 'failed', next_attempt_at = null, asleep = false`, []);
  await call('POST', `${path}/recover`, {
    since: new Real(Real.now() - HOUR / 2).toISOString(),
    include_missing: true,
  });
  const workers = new LiveWorkers(database, randomUUID(), () => {}, silentLog);
  const apis = new Heartbeat({ db: database, table: 'apis', id: randomUUID(), log: silentLog });
  workers.start();
  apis.start();
  await waitFor('the heartbeats', () => Math.abs(workers.now - Real.now()) < HOUR / 2 && !apis.isCutOff);
  const counted = new EndpointHours(database, silentLog, workers);
  const attempt = { startedAt: new Date(), durationMs: 5, responseStatus: 500, error: 'status' } as const;
  counted.count(first.webhookId, attempt);
  await counted.write();
  const health = await call('GET', `${path}/health`);
  expect([health.attempts_24h.failed, Math.abs(Date.parse(health.failing_since) - Real.now()) < HOUR / 2]).toEqual([
    1,
    true,
  ]);

  const { secretId } = await rotateSecret(database, OPERATOR, clientId, { expireOldIn: 60_000 });
  await revokeSecret(database, OPERATOR, clientId, secretId);
  await rotateSigningKey(database, OPERATOR, masterKeys);
  const [newest, rotated] = await listSigningKeys(database, HOUR / 2);
  expect([newest?.state, rotated?.state]).toEqual(['signing', 'verifying']);
  await call('DELETE', `/webhook-endpoints/${second.webhookId}`);
  const { client_id: erased } = await auth.client();
  await revokeClient(database, OPERATOR, erased);
  await database.query(`update clients set revoked_at = now() - interval '31 seconds' where id = $1::uuid`, [erased]);
  await eraseClient(database, BY_OPERATOR, erased);
  for (const args of [
    ['clients', 'create', '--name', 'made by a command'],
    ['endpoints', 'disable', first.webhookId, '--yes'],
    ['endpoints', 'enable', first.webhookId],
    ['keys', 'rotate'],
  ]) {
    const env = { ENVIRONMENT: 'sandbox', DATABASE_URL: database.url.reveal(), MASTER_KEY };
    expect(await runCommand(args, env)).toMatchObject({ code: 0 });
  }
  const counts: number[] = [];
  expect(await expireAudit(database, BY_OPERATOR, HOUR / 2)).toBe(0);
  expect(await expireTransfers(database, BY_OPERATOR, HOUR / 2)).toBe(0);
  const before = await lowestIdBefore(database, HOUR / 2);
  expect((await removeExpiredEvents(database, { before, after: null, limit: 100 })).removed).toBe(0);
  for (const table of TABLES_WITH_EXPIRY) {
    const { count } = await rowOf<{ count: number }>(database, `select count(*)::int as count from ${table}`, []);
    const removed = await removeExpiredRows(database, table, HOUR / 2, 100);
    expect([table, removed]).toEqual([table, 0]);
    counts.push(count);
  }
  expect(counts.filter((count) => count > 0).length).toBeGreaterThan(6);
  expect(await strangeTimes()).toEqual([]);
  await Promise.all([workers.stop(), apis.stop()]);
});
