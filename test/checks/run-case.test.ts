import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { finishCheck, getCheck, startCheck } from '../../src/checks/checks.js';
import { runCase } from '../../src/checks/run-case.js';
import { createAddressGuard } from '../../src/delivery/sender/address-guard.js';
import { createSender, type Sender } from '../../src/delivery/sender/send.js';
import { registerEndpoint } from '../../src/endpoints/endpoints.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { CHECK_CASE_NAMES } from '../../src/platform/vocabulary.js';
import { type CheckedReceiver, type Mistake, startCheckedReceiver } from '../support/checked-receiver.js';
import { openTestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeClient } from '../support/factories.js';

const SECRET = 'whsec_0123456789abcdef';
const masterKeys = new MasterKeys(new Secret(Buffer.from('0123456789abcdefghijklmnopqrstuv')));
const guardOf = (allowPrivate: boolean) => createAddressGuard({ allowPrivate, blocked: [] });

const database = await openTestDatabase();
const sender = createSender({ guard: guardOf(true) });
// A receiver that hangs would hold up each case for 15 s.
const impatient = createSender({ guard: guardOf(true), limits: { responseMs: 100 } });
afterAll(() => Promise.all([sender.close(), impatient.close()]));
let clientId: string;
const receivers: CheckedReceiver[] = [];
beforeEach(async () => {
  clientId = await makeClient(database);
});
afterEach(() => Promise.all(receivers.splice(0).map((receiver) => receiver.close())));

async function receiver(mistake?: Mistake): Promise<CheckedReceiver> {
  const started = await startCheckedReceiver(SECRET, mistake);
  receivers.push(started);
  return started;
}

async function begin(url: string) {
  const rules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 1_000 };
  const wanted = {
    by,
    clientId,
    url,
    secret: new Secret(SECRET),
    description: null,
    maxConcurrency: null,
    enabled: true,
  };
  const { id: endpointId } = await registerEndpoint(database, rules, masterKeys, wanted);
  const checkId = await database.transaction((tx) => startCheck(tx, { by, clientId, endpointId }));
  return { checkId, endpointId };
}

const report = ({ checkId: id, endpointId }: { checkId: string; endpointId: string }) =>
  getCheck(database, { clientId, endpointId, id });

/** Runs a whole check, as the workflow does. */
async function check(url: string, by: Sender = sender) {
  const plan = await begin(url);
  for (const name of CHECK_CASE_NAMES) {
    await runCase({ database, masterKeys, sender: by }, { checkId: plan.checkId, name });
  }
  await finishCheck(database, plan.checkId, 'stopped');
  return report(plan);
}

const failedIn = ({ cases }: Awaited<ReturnType<typeof check>>) =>
  cases.filter(({ passed }) => !passed).map(({ name }) => name);
const POSITIVE = ['valid', 'duplicate', 'out_of_order', 'unknown_type', 'unknown_field'];

describe('a check', () => {
  it('passes all nine cases at a receiver that follows the specification', async () => {
    const { url, requests } = await receiver();
    const made = await check(url);
    expect(made.status).toBe('passed');
    expect(made.cases.map(({ name, passed, hint }) => [name, passed, hint])).toEqual(
      CHECK_CASE_NAMES.map((name) => [name, true, null]),
    );
    expect(made.cases.map(({ responseStatus, error }) => [responseStatus, error])).toEqual([
      ...POSITIVE.map(() => [204, null]),
      ...['t', 'secret', 'body', 'header'].map(() => [401, 'status']),
    ]);
    expect(made.cases.map(({ requestBody }) => requestBody)).toEqual(requests.map(({ body }) => body));
    expect(
      made.cases.map(({ requestHeaders }) => (requestHeaders as Record<string, string>)['Service-Signature']),
    ).toEqual(requests.map(({ signature }) => signature));
  });

  it.each<[Mistake, string[], RegExp]>([
    ['accepts any signature', ['wrong_secret', 'changed_body'], /accepts any signature/],
    ['accepts an old t', ['stale_timestamp'], /more than 5 minutes older/],
    ['verifies the body as Python writes it again', POSITIVE, /before any JSON parser: reserialised JSON/],
    ['verifies the body as JavaScript writes it again', ['unknown_field'], /signs reserialised JSON/],
    ['rejects unknown types', ['unknown_type'], /New types may be added/],
    ['rejects unknown fields', ['unknown_field'], /ignore unknown fields/],
    ['rejects duplicates', ['duplicate'], /A delivery may be repeated/],
    ['rejects older events', ['out_of_order'], /Order is not guaranteed/],
    ['ignores a missing signature', ['missing_signature'], /without Service-Signature/],
    ['ignores the body', ['stale_timestamp', 'wrong_secret', 'changed_body'], /accepts an old timestamp/],
    ['redirects', POSITIVE, /follow no redirect/],
    ['hangs', [...CHECK_CASE_NAMES], /No response came in time/],
    ['fails', POSITIVE, /check its log/],
  ])('finds a receiver that %s', async (mistake, failed, hint) => {
    const { url } = await receiver(mistake);
    const made = await check(url, mistake === 'hangs' ? impatient : sender);
    expect([made.status, failedIn(made)]).toEqual(['failed', failed]);
    const hints = made.cases.filter(({ passed }) => !passed).map((one) => one.hint);
    expect(hints[0]).toMatch(hint);
    expect(hints.every((one) => one !== null && one.length > 20)).toBe(true);
  });

  it('names why no response came', async () => {
    const { url, close } = await receiver();
    receivers.pop();
    await close();
    const made = await check(url);
    expect(failedIn(made)).toEqual(CHECK_CASE_NAMES);
    expect(made.cases[0]).toMatchObject({ responseStatus: null, error: 'refused' });
    expect(made.cases[0]?.hint).toMatch(/Nothing accepts connections/);
    expect(made.cases[8]?.hint).toMatch(/Nothing accepts connections.*To reject a request, respond, such as with 401/);
  });

  it('sends nothing to an address that the guard blocks', async () => {
    const guarded = createSender({ guard: guardOf(false) });
    const { url, requests } = await receiver();
    const made = await check(url, guarded);
    await guarded.close();
    expect(requests).toEqual([]);
    expect(made.cases.map(({ error, passed }) => [error, passed])).toEqual(
      CHECK_CASE_NAMES.map(() => ['blocked_address', false]),
    );
    expect(made.cases[0]?.hint).toMatch(/public addresses only/);
  });

  it('never modifies the endpoint, not even after a 410, and leaves no event and no delivery', async () => {
    const gone = await startCheckedReceiver(SECRET);
    receivers.push(gone);
    const plan = await begin(gone.url);
    const before = await database.prisma.endpoint.findUnique({ where: { id: plan.endpointId } });
    const by: Sender = {
      ...sender,
      send: async (outgoing) => ({ ...(await sender.send(outgoing)), responseStatus: 410, error: 'status' }),
    };
    await runCase({ database, masterKeys, sender: by }, { checkId: plan.checkId, name: 'valid' });
    expect((await report(plan)).cases[0]).toMatchObject({ passed: false, responseStatus: 410 });
    expect(await database.prisma.endpoint.findUnique({ where: { id: plan.endpointId } })).toEqual(before);
    expect([await database.prisma.event.count(), await database.prisma.delivery.count()]).toEqual([0, 0]);
  });
});

describe('a case', () => {
  it('that is recorded is not sent again', async () => {
    const { url, requests } = await receiver();
    const { checkId } = await begin(url);
    for (let i = 0; i < 2; i++) {
      expect(await runCase({ database, masterKeys, sender }, { checkId, name: 'valid' })).toBe('passed');
    }
    expect(requests).toHaveLength(1);
  });

  it('that two processes send at once is in the report once', async () => {
    const { url, requests } = await receiver();
    const plan = await begin(url);
    let arrived = () => {};
    const both = new Promise<void>((resolve) => {
      let count = 0;
      arrived = () => ++count === 2 && resolve();
    });
    const together: Sender = {
      ...sender,
      async send(outgoing) {
        arrived();
        await both;
        return sender.send(outgoing);
      },
    };
    const run = () => runCase({ database, masterKeys, sender: together }, { checkId: plan.checkId, name: 'valid' });
    await Promise.all([run(), run()]);
    expect(requests).toHaveLength(2);
    expect((await report(plan)).cases).toHaveLength(1);
  });

  it.each([
    ['disabled', { enabled: false }],
    ['deleted', { deletedAt: new Date(), secretEnvelope: null }],
  ])('is not sent after the endpoint is %s, and the check ends with a report that says so', async (_, change) => {
    const { url, requests } = await receiver();
    const plan = await begin(url);
    const dependencies = { database, masterKeys, sender };
    await runCase(dependencies, { checkId: plan.checkId, name: 'valid' });
    await database.prisma.endpoint.update({ where: { id: plan.endpointId }, data: change });
    expect(await runCase(dependencies, { checkId: plan.checkId, name: 'duplicate' })).toBe('endpoint_not_active');
    expect(await finishCheck(database, plan.checkId, 'endpoint_not_active')).toBe('failed');
    expect(await database.prisma.workflowStart.count({ where: { endpointId: plan.endpointId } })).toBe(0);
    expect(requests).toHaveLength(1);
    const { cases, status, finishedAt } = await report(plan);
    expect([status, finishedAt instanceof Date, cases.map(({ name }) => name)]).toEqual([
      'failed',
      true,
      CHECK_CASE_NAMES,
    ]);
    for (const one of cases.slice(1)) {
      expect(one).toMatchObject({ passed: false, responseStatus: null, error: null, requestBody: null });
      expect(one.hint).toMatch(/^Not sent: the endpoint was disabled or deleted/);
    }
  });

  it('is neither sent nor recorded after the end of its check', async () => {
    const { url, requests } = await receiver();
    const plan = await begin(url);
    expect(await finishCheck(database, plan.checkId, 'stopped')).toBe('failed');
    expect(await finishCheck(database, plan.checkId, 'stopped')).toBeUndefined();
    expect(await runCase({ database, masterKeys, sender }, { checkId: plan.checkId, name: 'valid' })).toBe('ended');
    expect(requests).toEqual([]);
  });
});
