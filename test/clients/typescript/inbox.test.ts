import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import { createInbox, type PgInboxOptions } from '../../../clients/typescript/src/inbox.js';
import type { DeliveredEvent } from '../../../clients/typescript/src/types.js';
import { signatureHeader } from '../../../clients/typescript/src/verify.js';
import { openAuthApi } from '../../support/auth-api.js';
import { makeDelivered, makeEvent } from '../../support/events.js';
import { importTool } from '../../support/tooling.js';
import { endpointRequest, SECRET } from '../../support/transfers.js';
import { waitFor } from '../../support/wait-for.js';

const DAY = 86_400_000;

// Before the database of the API is dropped.
afterAll(() => pool.end());
const auth = await openAuthApi();
const pool = new pg.Pool({ connectionString: auth.database.url.reveal(), max: 15 });
let clientId: string;
let client: TransferServiceClient;
let tests = 0;
let schema: string;

beforeEach(async () => {
  // The integrator's own database: a schema with a log of effects, which repeats whatever is repeated.
  schema = `shop_${++tests}`;
  await pool.query(`create schema ${schema}; create table ${schema}.effects (n serial, id text, late boolean)`);
  const { client_id, client_secret } = await auth.client();
  clientId = client_id;
  client = new TransferServiceClient({ baseUrl: auth.baseUrl, clientId, clientSecret: client_secret });
});

type Options = PgInboxOptions<pg.PoolClient>;

async function makeInbox(overrides: Partial<Options> = {}) {
  const errors: unknown[] = [];
  const inbox = createInbox<pg.PoolClient>({
    pool,
    client,
    schema,
    secrets: SECRET,
    async onEvent(event, { tx, isLate }) {
      await tx.query(`insert into ${schema}.effects (id, late) values ($1, $2)`, [event.id, isLate]);
    },
    onError: (error) => errors.push(error),
    ...overrides,
  });
  await Promise.all([inbox.migrate(), inbox.migrate()]);
  const hook = inbox.fetch();
  const push = async (event: DeliveredEvent, secret = SECRET) => {
    const body = JSON.stringify(event);
    const headers = { 'service-signature': signatureHeader({ secret, t: new Date().toISOString(), body }) };
    // A framework responds with 500 to what a handler throws.
    return hook(new Request('http://localhost/', { method: 'POST', headers, body })).then(
      ({ status }) => status,
      () => 500,
    );
  };
  return { inbox, push, errors };
}

const effects = async () => (await pool.query(`select id, late from ${schema}.effects order by n`)).rows;
const effectIds = async () => (await effects()).map(({ id }) => id);

/** An event of the service, as it is delivered. */
async function event(at: number, data: Partial<DeliveredEvent['data']> = {}): Promise<DeliveredEvent> {
  const id = await makeEvent(auth.database, clientId, at);
  const { deliveries, ...made } = await client.events.get(id);
  return { ...made, data: { ...made.data, ...data } };
}

describe('a push', () => {
  test('has its effect once, however often and concurrently it is repeated', async () => {
    const { push } = await makeInbox();
    const [one, another] = [await event(Date.now() - 1_000), await event(Date.now() - 900)];
    const statuses = await Promise.all(Array.from({ length: 30 }, (_, i) => push(i % 2 ? one : another)));
    expect(new Set(statuses)).toEqual(new Set([204]));
    expect((await effectIds()).sort()).toEqual([one.id, another.id].sort());
  });

  test('is late if a later event of its transfer was handled', async () => {
    const { push } = await makeInbox();
    const at = Date.now() - 5_000;
    const sent = await event(at + 1);
    const { id } = sent.data;
    const [first, other] = [await event(at, { id }), await event(at)];
    for (const one of [sent, first, other]) await push(one);
    expect((await effects()).map(({ late }) => late)).toEqual([false, true, false]);
  });

  test('rolls back and responds with 500 if it fails, and comes again; after the last try it is parked until `retry`', async () => {
    let broken = true;
    const { inbox, push } = await makeInbox({
      maxTries: 3,
      async onEvent({ id }, { tx }) {
        await tx.query(`insert into ${schema}.effects (id) values ($1)`, [id]);
        if (broken) throw new Error('out of stock');
      },
    });
    const one = await event(Date.now() - 1_000);
    expect([await push(one), await push(one), await push(one), await push(one)]).toEqual([500, 500, 204, 204]);
    expect(await effects()).toEqual([]);
    expect(await inbox.parked()).toEqual([
      { event: one, tries: 3, lastError: 'Error: out of stock', parkedAt: expect.any(Date) },
    ]);
    expect(Math.abs(Date.now() - Number((await inbox.parked())[0]?.parkedAt))).toBeLessThan(60_000);
    await expect(inbox.retry(one.id)).rejects.toThrow('out of stock');
    broken = false;
    expect([await inbox.retry(one.id), await inbox.retry(one.id)]).toEqual([true, false]);
    expect([await effectIds(), await inbox.parked()]).toEqual([[one.id], []]);
  });

  test('whose transaction was aborted by a swallowed error is no success', async () => {
    const { push } = await makeInbox({
      onEvent: async (_, { tx }) => void (await tx.query('select 1/0').catch(() => {})),
    });
    expect(await push(await event(Date.now() - 1_000))).toBe(500);
  });

  test('that meets the end of its connection does not count as a try, and does not end the process', async () => {
    let kills = 2;
    const { inbox, push } = await makeInbox({
      maxTries: 1,
      async onEvent({ id }, { tx }) {
        if (kills-- > 0) await tx.query('select pg_terminate_backend(pg_backend_pid())');
        await tx.query(`insert into ${schema}.effects (id) values ($1)`, [id]);
      },
    });
    const one = await event(Date.now() - 1_000);
    expect([await push(one), await push(one), await push(one)]).toEqual([500, 500, 204]);
    expect([await effectIds(), await inbox.parked()]).toEqual([[one.id], []]);
  });
});

describe('a poll', () => {
  test('reads from the oldest event to the end, and then goes on from its durable cursor', async () => {
    const { inbox } = await makeInbox();
    const at = Date.now() - DAY;
    const ids = [];
    for (let i = 0; i < 103; i++) ids.push(await makeEvent(auth.database, clientId, at + i));
    expect(await inbox.poll()).toEqual({ handled: 103, failed: 0, parked: 0, gap: false });
    expect(await effectIds()).toEqual(ids);
    const { inbox: restarted } = await makeInbox();
    expect(await restarted.poll()).toMatchObject({ handled: 0 });
    const { id } = await event(Date.now());
    await waitFor('the feed to reach it', async () => (await restarted.poll()).handled === 1);
    expect((await effectIds()).at(-1)).toBe(id);
  });

  test('meets pushes and other polls of the same events, and each has its effect once', async () => {
    const { inbox, push } = await makeInbox();
    const { inbox: another } = await makeInbox();
    const events: DeliveredEvent[] = [];
    for (let i = 0; i < 40; i++) events.push(await event(Date.now() - 60_000 + i));
    await Promise.all([inbox.poll(), another.poll(), ...events.map((one) => push(one)), inbox.poll()]);
    expect((await effectIds()).sort()).toEqual(events.map(({ id }) => id).sort());
  });

  test('is not held up by an event that fails, and tries it again later', async () => {
    const failing = new Set<string>();
    const { inbox, errors } = await makeInbox({
      async onEvent({ id }, { tx }) {
        if (failing.has(id)) throw new Error('not now');
        await tx.query(`insert into ${schema}.effects (id) values ($1)`, [id]);
      },
    });
    const [bad, good] = [await event(Date.now() - 2_000), await event(Date.now() - 1_000)];
    failing.add(bad.id);
    expect(await inbox.poll()).toMatchObject({ handled: 1, failed: 1 });
    expect([await effectIds(), errors.map(String)]).toEqual([[good.id], ['Error: not now']]);
    failing.clear();
    expect(await inbox.poll()).toMatchObject({ handled: 0, failed: 0 });
    await pool.query(`update ${schema}.inbox_events set tried_at = tried_at - interval '3 minutes'`);
    expect(await inbox.poll()).toMatchObject({ handled: 1, failed: 0 });
  });

  test('says so if its cursor is older than the events that are kept, and continues with the oldest', async () => {
    const { inbox, errors } = await makeInbox();
    await inbox.poll();
    const before = { order: 'oldest', created_before: new Date(Date.now() - 100 * DAY).toISOString() } as const;
    const { next_cursor } = await client.events.list(before).page();
    await pool.query(`update ${schema}.inbox_cursor set cursor = $1`, [next_cursor]);
    const { id } = await event(Date.now() - 1_000);
    expect(await inbox.poll()).toEqual({ handled: 1, failed: 0, parked: 0, gap: true });
    expect([await effectIds(), errors.map(String)]).toEqual([[id], [expect.stringMatching(/events before are lost/)]]);
  });

  test('removes handled events after `keepDays`, and knows later repetitions without them', async () => {
    const { inbox, push } = await makeInbox({ keepDays: 2 });
    const { inbox: failing, push: pushFailing } = await makeInbox({
      onEvent: () => Promise.reject(new Error('not now')),
    });
    const old = await event(Date.now() - 3 * DAY);
    const stuck = await event(Date.now() - 3 * DAY);
    const recent = await event(Date.now() - DAY);
    await pushFailing(stuck);
    await inbox.poll();
    const { rows } = await pool.query(`select id from ${schema}.inbox_events order by created_at`);
    expect(rows.map(({ id }) => id)).toEqual([stuck.id, recent.id]);
    expect([await push(old), await push(recent), await push(stuck)]).toEqual([204, 204, 204]);
    expect(await effectIds()).toEqual([old.id, recent.id, stuck.id]);
    await expect(failing.prove({ since: new Date(Date.now() - 4 * DAY) })).rejects.toThrow(/since must not be before/);
  });
});

test('run polls at its start and when a push shows that an earlier event is missing, and ends with its signal', async () => {
  const { inbox, push } = await makeInbox();
  const first = await event(Date.now() - 60_000);
  const ended = new AbortController();
  const running = inbox.run({ signal: ended.signal });
  await waitFor('the first poll', async () => (await effectIds()).includes(first.id));
  const missing = await event(Date.now());
  const sent = await event(Date.now() + 1, { id: missing.data.id, status: 'SENT' });
  await waitFor('the push to be handled', async () => (await push(sent)) === 204);
  await waitFor('the missing one', async () => (await effectIds()).includes(missing.id));
  ended.abort();
  await running;
});

test('run takes notice of a push and of its signal during a poll (regression: it slept for an hour)', async () => {
  const polled: (() => unknown)[] = [];
  const ended = new AbortController();
  const { inbox, push } = await makeInbox({
    // The last request of a poll: what happens now is seen by no step of it.
    client: { events: { list: () => ({ page: readPage }) } } as unknown as TransferServiceClient,
  });
  async function readPage() {
    await polled.shift()?.();
    return { data: [], has_more: false, next_cursor: null };
  }
  const sent = await event(Date.now(), { status: 'SENT' });
  let polls = 0;
  polled.push(
    () => push(sent),
    () => {
      polls++;
      ended.abort();
    },
  );
  await inbox.run({ signal: ended.signal });
  expect(polls).toBe(1);
});

describe('prove', () => {
  const window = { since: new Date(Date.now() - DAY), until: new Date(Date.now() - DAY / 2) };
  const at = window.since.getTime();

  test('names and fetches what is missing, names what is too much and what has failed, and then proves', async () => {
    let broken = true;
    const { inbox, push } = await makeInbox({
      maxTries: 1,
      onEvent({ data }) {
        if (data.status === 'CANCELLED' && broken) throw new Error('not now');
      },
    });
    const { webhookId } = await client.webhookEndpoints.register({ ...endpointRequest(), secret: SECRET });
    const of = { clientId, endpointId: webhookId, status: 'succeeded' } as const;
    const [had, missing] = [await event(at), await event(at + 1)];
    await makeDelivered(auth.database, { ...of, at: at + 2 });
    await push(had);
    const failed = await event(at + 3, { status: 'CANCELLED' });
    await push(failed);
    const proof = await inbox.prove(window);
    expect(proof).toMatchObject({ proven: false, unknown: [], unhandled: [failed.id], statement: { events: 4 } });
    expect(proof.missing).toHaveLength(2);
    expect(proof.missing[0]).toBe(missing.id);
    broken = false;
    await inbox.retry(failed.id);
    expect(await inbox.prove(window)).toMatchObject({ proven: true, missing: [], unknown: [], unhandled: [] });
    const lost = { ...missing, id: missing.id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')) };
    await push(lost);
    expect(await inbox.prove(window)).toMatchObject({ proven: false, missing: [], unknown: [lost.id] });
  });
});

describe('every statement of the inbox runs in the transaction of another library:', () => {
  const shared = () => ({ client, schema, secrets: SECRET, since: new Date(Date.now() - DAY), onError() {} });

  test('Prisma', async () => {
    const { prisma } = auth.database;
    type Tx = Parameters<Parameters<typeof prisma.$transaction>[0]>[0];
    const inbox = createInbox<Tx>({
      ...shared(),
      database: {
        transaction: (work) => prisma.$transaction(work),
        query: (tx, text, values) => tx.$queryRawUnsafe(text, ...values),
      },
      onEvent: async ({ id }, { tx, isLate }) => {
        await tx.$executeRawUnsafe(`insert into ${schema}.effects (id, late) values ($1, $2)`, id, isLate);
      },
    });
    await everything(inbox);
  });

  test('Drizzle', async () => {
    const { drizzle } = await importTool('drizzle-orm/node-postgres');
    const { sql } = await importTool('drizzle-orm');
    const db = drizzle(pool);
    // biome-ignore lint/suspicious/noExplicitAny: the tools have no types here
    const inbox = createInbox<any>({
      ...shared(),
      database: {
        transaction: (work) => db.transaction(work),
        query: async (tx, text, values) => {
          const parts = text
            .split(/\$(\d+)/)
            .map((part, i) => (i % 2 ? sql`${values[Number(part) - 1]}` : sql.raw(part)));
          return (await tx.execute(sql.join(parts))).rows;
        },
      },
      onEvent: ({ id }, { tx, isLate }) =>
        tx.execute(sql`insert into ${sql.raw(schema)}.effects (id, late) values (${id}, ${isLate})`),
    });
    await everything(inbox);
  });

  async function everything(inbox: ReturnType<typeof createInbox>) {
    await inbox.migrate();
    const ids = [(await event(Date.now() - 60_000)).id, (await event(Date.now() - 59_000)).id];
    expect(await inbox.poll()).toMatchObject({ handled: 2, failed: 0 });
    expect(await effects()).toEqual(ids.map((id) => ({ id, late: false })));
    await pool.query(`drop table ${schema}.effects`);
    const { id } = await event(Date.now());
    await waitFor('the feed to reach it', async () => (await inbox.poll()).failed === 1);
    await pool.query(`update ${schema}.inbox_events set parked_at = now() where id = $1`, [id]);
    expect(await inbox.parked()).toMatchObject([{ event: { id }, tries: 1, lastError: expect.any(String) }]);
    await pool.query(`create table ${schema}.effects (n serial, id text, late boolean)`);
    expect([await inbox.retry(id), await inbox.parked()]).toEqual([true, []]);
    const { webhookId } = await client.webhookEndpoints.register({ ...endpointRequest(), secret: SECRET });
    const window = { since: new Date(Date.now() - DAY / 2), until: new Date(Date.now() + 1_000) };
    const proof = await inbox.prove({ webhookId, ...window });
    expect(proof).toMatchObject({ proven: true, statement: { events: 3 } });
  }
});

afterEach(async () => {
  await pool.query(`drop schema ${schema} cascade`);
});
