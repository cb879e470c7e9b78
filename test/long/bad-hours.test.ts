import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { readState } from '../../src/local/stack-state.js';
import { type BadHours, MADE, REFUSED, readyz, SHIFT_CLOCK, startBadHours } from '../support/bad-hours.js';
import { must } from '../support/caller.js';
import { runCli } from '../support/cli.js';
import { freeze } from '../support/freeze.js';
import { SECRET } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The view of clients and operators while a part of the platform fails, and the recovery afterwards without an
// operator.

const HOUR = 3_600_000;

let hours: BadHours;
beforeAll(async () => {
  hours = await startBadHours();
}, 120_000);
afterAll(() => hours?.stop(), 60_000);

test('a missing Temporal namespace stops retries only, is reported, and is fixed by migrate without a restart', async () => {
  const id = await hours.newTransfer();
  await must(hours.change(id));
  await waitFor('the first attempt', () => hours.arrivals(id) === 1);
  expect(await readyz(hours.at.base_url)).toMatchObject({
    status: 200,
    checks: { temporal: 'no namespace bad-hours' },
  });
  expect(await readyz(hours.workerUrl)).toMatchObject({ status: 200, checks: { temporal: 'no namespace bad-hours' } });
  expect(hours.worker.said.join('\n')).toContain('Temporal has no namespace bad-hours; run transfer-service migrate');
  expect((await runCli(['doctor'], hours.env)).stdout).toContain('there is no bad-hours; run transfer-service migrate');
  expect(await runCli(['migrate'], { ...hours.stack.env, TEMPORAL_NAMESPACE: 'bad-hours' })).toMatchObject({
    code: 0,
  });
  await waitFor(
    'the worker to be connected',
    async () => (await readyz(hours.workerUrl)).checks.temporal === 'ok',
    60_000,
  );
  await hours.untilDelivered(id);
  await hours.untilWorkflowEnded(id);
}, 240_000);

test('migrate repairs a deleted Temporal namespace while the worker runs, without a restart', async () => {
  await hours.temporal.operatorService.deleteNamespace({ namespace: 'bad-hours' });
  const missing = async () => (await readyz(hours.workerUrl)).checks.temporal === 'no namespace bad-hours';
  await waitFor('the missing namespace to be noticed', missing, 60_000);
  const id = await hours.newTransfer();
  await must(hours.change(id));
  await waitFor('the first attempt', () => hours.arrivals(id) === 1);
  expect(await runCli(['migrate'], { ...hours.stack.env, TEMPORAL_NAMESPACE: 'bad-hours' })).toMatchObject({ code: 0 });
  await waitFor(
    'the worker to be connected',
    async () => (await readyz(hours.workerUrl)).checks.temporal === 'ok',
    60_000,
  );
  await hours.untilDelivered(id);
  await hours.untilWorkflowEnded(id);
}, 240_000);

async function isReadOnly(): Promise<boolean> {
  const session = new pg.Client({ connectionString: hours.env.DATABASE_URL });
  await session.connect();
  const { rows } = await session.query('show default_transaction_read_only');
  await session.end();
  return rows[0]?.default_transaction_read_only === 'on';
}

test('a read-only Postgres: changes are rejected, and transfers can be read', async () => {
  const set = async (value: string) => {
    await hours.admin.query('set default_transaction_read_only = off');
    await hours.admin.query(`alter system set default_transaction_read_only = ${value}`);
    await hours.admin.query('select pg_reload_conf()');
  };
  await hours.expectNothingHalfDone(
    async () => {
      await set('on');
      // A session that has not read the setting yet would still make a change.
      await waitFor('new sessions to be read-only', isReadOnly);
      await hours.admin.query(`select pg_terminate_backend(pid, 30000) from pg_stat_activity where usename = 'app'`);
      await waitFor('transfers to be read', async () => (await hours.client('GET', '/transfers')).status === 200);
    },
    () => set('off'),
  );
}, 120_000);

test('no space left for Postgres: no change is half made', async () => {
  const full = ['transfers', 'events', 'attempts', 'webhook_endpoints', 'idempotency_keys', 'deliveries'];
  await hours.admin.query(`create function no_space() returns trigger language plpgsql as
    $$ begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$`);
  const on = (text: (name: string) => string) => hours.admin.query(full.map(text).join(';'));
  await hours.expectNothingHalfDone(
    () => on((name) => `create trigger full_disk before insert on ${name} execute function no_space()`),
    () => on((name) => `drop trigger full_disk on ${name}`),
  );
}, 120_000);

test('no free connection to Postgres: no change is half made', async () => {
  await hours.expectNothingHalfDone(
    async () => {
      await hours.admin.query('alter role app connection limit 0');
      await hours.admin.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'`);
    },
    () => hours.admin.query('alter role app connection limit -1'),
  );
}, 120_000);

test('Postgres hangs: requests fail within the statement limit, and the change that hung is made whole or not at all', async () => {
  const thaws: (() => void)[] = [];
  await hours.expectNothingHalfDone(
    async () => thaws.push(freeze(readState(hours.localDir.path)?.postgres?.pid ?? 0)),
    async () => {
      for (const thaw of thaws) thaw();
    },
    // Postgres executes a statement that it read before it hung, so both results are possible.
    [REFUSED, MADE],
  );
}, 120_000);

test('Temporal hangs: changes are accepted, and first attempts and manual retries are made', async () => {
  const { webhookId } = await must(
    hours.client('POST', '/webhook-endpoints', { url: hours.failing.url, secret: SECRET }),
  );
  const [before, during] = [await hours.newTransfer(), await hours.newTransfer()];
  await must(hours.change(before));
  const [event] = (await must(hours.client('GET', `/events?transfer_id=${before}`))).data;
  const deliveries = (await must(hours.client('GET', `/events/${event.id}/deliveries`))).data;
  const { id } = deliveries.find((delivery: { webhookId: string }) => delivery.webhookId === webhookId);
  await waitFor(
    'the delivery to sleep',
    async () => (await must(hours.client('GET', `/deliveries/${id}`))).attempt_count === 2,
    60_000,
  );
  const thaw = freeze(readState(hours.localDir.path)?.temporal?.pid ?? 0);
  try {
    await must(hours.change(during));
    await waitFor('the first attempt', () => hours.arrivals(during) === 1);
    expect((await hours.client('POST', `/deliveries/${id}/retry`)).status).toBe(202);
    await waitFor(
      'its attempt',
      async () => (await must(hours.client('GET', `/deliveries/${id}`))).attempt_count === 3,
      60_000,
    );
  } finally {
    thaw();
  }
  await must(hours.client('DELETE', `/webhook-endpoints/${webhookId}`));
}, 180_000);

test.each(['SERVFAIL', 'NXDOMAIN'] as const)(
  'name servers respond %s: the ladder continues, and a retry succeeds after they recover',
  async (mood) => {
    hours.nameServer.mood = mood;
    const url = `http://${mood}.example.com:${hours.receiver.port}/`;
    const { webhookId } = await must(hours.client('POST', '/webhook-endpoints', { url, secret: SECRET }));
    const id = await hours.newTransfer();
    await must(hours.change(id));
    const delivery = await waitFor(
      'two attempts',
      async () => {
        const { data } = await must(hours.client('GET', `/webhook-endpoints/${webhookId}/deliveries`));
        return data[0]?.attempt_count === 2 && (await must(hours.client('GET', `/deliveries/${data[0].id}`)));
      },
      60_000,
    );
    expect(delivery).toMatchObject({ status: 'pending', attempts: [{ error: 'dns' }, { error: 'dns' }] });
    hours.nameServer.mood = 'well';
    await must(hours.client('POST', `/deliveries/${delivery.id}/retry`));
    await waitFor(
      'it to be delivered',
      async () => (await must(hours.client('GET', `/deliveries/${delivery.id}`))).status === 'succeeded',
      60_000,
    );
    await must(hours.client('DELETE', `/webhook-endpoints/${webhookId}`));
  },
  120_000,
);

test.each([1, -1])(
  'clocks of API and worker jump by %d h: no event is lost or repeated',
  async (jump) => {
    const { webhookId } = await must(
      hours.client('POST', '/webhook-endpoints', { url: hours.failing.url, secret: SECRET }),
    );
    for (const { process: one } of [hours.api, hours.worker]) {
      one.send({ ahead: jump * HOUR });
      await once(one, 'message');
    }
    let sleeping = '';
    try {
      const id = await hours.newTransfer();
      await must(hours.change(id));
      await waitFor('the delivery', () => hours.arrivals(id) === 1);
      const { data } = await waitFor(
        'two attempts at the other endpoint',
        async () => {
          const page = await must(hours.client('GET', `/webhook-endpoints/${webhookId}/deliveries`));
          return page.data[0]?.attempt_count === 2 && page;
        },
        60_000,
      );
      sleeping = data[0].id;
      const { next_attempt_at, attempts } = await must(hours.client('GET', `/deliveries/${sleeping}`));
      // Postgres's clock sets the plan. The worker's clock sets the signature's time, which a receiver may reject.
      expect(Math.round((Date.parse(next_attempt_at) - Date.now()) / HOUR)).toBe(1);
      expect(Math.round((Date.parse(attempts[0].t) - Date.now()) / HOUR)).toBe(jump);
      const { rows } = await hours.admin.query(
        `select from queue where lease_until > now() + interval '1 minute'
         union all select from outbox where lease_until > now() + interval '1 minute'`,
      );
      expect(rows).toEqual([]);
      expect(hours.arrivals(id)).toBe(1);
    } finally {
      for (const { process: one } of [hours.api, hours.worker]) {
        one.send({ ahead: 0 });
        await once(one, 'message');
      }
    }
    await hours.renewToken();
    const id = await hours.newTransfer();
    await must(hours.change(id));
    await hours.untilDelivered(id);
    expect((await must(hours.client('GET', `/deliveries/${sleeping}`))).attempt_count).toBe(2);
    await must(hours.client('DELETE', `/webhook-endpoints/${webhookId}`));
  },
  120_000,
);

test.each([1, -1])("doctor reports that its machine's clock is %d h off", async (jump) => {
  const off = { ...hours.env, CLOCK_AHEAD: String(jump * HOUR), NODE_OPTIONS: SHIFT_CLOCK.join(' ') };
  const { code, stdout } = await runCli(['doctor', '--json'], off);
  const clocks = JSON.parse(stdout).checks.find(({ check }: { check: string }) => check === 'clocks');
  expect([code, clocks.ok]).toEqual([1, false]);
  expect(clocks.detail).toMatch(/this machine differ by 3(600|599|601) s; synchronize both by NTP/);
});
