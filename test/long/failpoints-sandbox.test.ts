import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CHECK_CASE_NAMES } from '../../src/platform/vocabulary.js';
import { must } from '../support/caller.js';
import { startCheckedReceiver } from '../support/checked-receiver.js';
import { type MortalService, startMortalService } from '../support/mortal-service.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// The whole service in one process dies inside and between the automatic steps of a transfer of the sandbox. The table
// in docs/reliability.md has the result of each failpoint.

const STEP = { SANDBOX_STEP: '500ms' };
const STATUSES = ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED'];

let mortal: MortalService;
beforeAll(async () => {
  mortal = await startMortalService();
  await mortal.stopService();
  await mortal.begin(STEP);
}, 120_000);
afterAll(() => mortal?.stop(), 60_000);

const create = async (headers?: Record<string, string>): Promise<string> => {
  const request = transferRequest({ destination: { name: 'Ada', account: 'SANDBOX-RETURN-OTHER' } });
  return (await must(mortal.client('POST', '/transfers', request, headers))).id;
};
const read = (id: string) => must(mortal.client('GET', `/transfers/${id}`));

/** Waits for the end, and expects each status once, with one event that arrived once. */
async function expectEachStatusOnce(id: string): Promise<void> {
  await waitFor('the last status', async () => (await read(id)).status === 'RETURNED');
  const { status_history } = await read(id);
  expect(status_history.map(({ status }: { status: string }) => status)).toEqual(['CREATED', ...STATUSES]);
  const { data } = await must(mortal.client('GET', `/events?transfer_id=${id}`));
  expect(data.map((event: { data: { status: string } }) => event.data.status).reverse()).toEqual(STATUSES);
  await waitFor('the deliveries', () => new Set(mortal.arrivalsOf(id).map(({ event }) => event)).size === 4);
  expect(await mortal.temporal.client.workflow.getHandle(`sandbox-${id}`).result()).toBe('RETURNED');
}

/** The transfer of `create` even where the process died before it responded. */
const created = async (before: number) =>
  waitFor('the transfer', async () => {
    const { data } = await must(mortal.client('GET', '/transfers'));
    return data.length > before && (data[0].id as string);
  });
const count = async () => (await must(mortal.client('GET', '/transfers?limit=100'))).data.length as number;

test.each<[string, number]>([
  ['after-workflow-start', 1],
  ['before-step', 1],
  ['after-step', 1],
  ['after-commit', 1],
  ['before-step', 3],
  ['after-step', 3],
  ['after-step', 4],
])(
  '%s, pass %d: makes each automatic status once',
  async (at, passes) => {
    const before = await count();
    await mortal.dieAndBegin([at, passes], create, STEP);
    await expectEachStatusOnce(await created(before));
  },
  120_000,
);

test('before-commit: creates nothing, and the same Idempotency-Key creates one simulated transfer', async () => {
  const before = await count();
  const key = { 'Idempotency-Key': `sandbox-${Date.now()}` };
  expect(await mortal.dieAndBegin(['before-commit', 1], () => create(key), STEP)).toBeUndefined();
  expect(await count()).toBe(before);
  const id = await create(key);
  expect(await create(key)).toBe(id);
  await expectEachStatusOnce(id);
  expect(await count()).toBe(before + 1);
}, 120_000);

test('kill -9 between two steps: the timers continue, and the next process makes the remaining steps', async () => {
  const id = await create();
  await waitFor('the first step', async () => (await read(id)).status === 'PROCESSING');
  await mortal.killAndBegin(STEP);
  await expectEachStatusOnce(id);
}, 120_000);

test.each([1, 7])(
  'after-case-sent, pass %d: the report of a check has each of the nine cases once',
  async (passes) => {
    const receiver = await startCheckedReceiver(SECRET);
    const { webhookId } = await must(
      mortal.client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }),
    );
    const path = `/webhook-endpoints/${webhookId}/checks`;
    // A service that has just begun may not have reached Temporal yet: 503.
    const start = () =>
      waitFor('the check to start', async () => {
        const { status } = await mortal.client('POST', path);
        if (status !== 503) expect(status).toBe(202);
        return status === 202;
      });
    await mortal.dieAndBegin(['after-case-sent', passes], start, STEP);
    const { id } = await mortal.database.prisma.receiverCheck.findFirstOrThrow({ where: { endpointId: webhookId } });
    const report = await waitFor('the end of the check', async () => {
      const body = await must(mortal.client('GET', `/webhook-endpoints/${webhookId}/checks/${id}`));
      return body.status !== 'running' && body;
    });
    expect([report.status, report.cases.map(({ name }: { name: string }) => name)]).toEqual([
      'passed',
      CHECK_CASE_NAMES,
    ]);
    // The case that was sent before the crash is sent again.
    expect(receiver.requests).toHaveLength(CHECK_CASE_NAMES.length + 1);
    await receiver.close();
  },
  120_000,
);
