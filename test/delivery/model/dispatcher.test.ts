import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Dispatcher, type Job } from '../../../src/delivery/dispatcher.js';
import type { LeasedAttempt } from '../../../src/delivery/handover.js';
import type { AttemptDependencies } from '../../../src/delivery/make-attempt.js';
import type { MadeAttempt, RecordedAttempt } from '../../../src/delivery/record.js';
import type { Outgoing, SendOutcome } from '../../../src/delivery/sender/send.js';
import { Slots } from '../../../src/delivery/slots.js';
import type { Handle } from '../../../src/platform/database/database.js';
import { NO_WAKE_UPS } from '../../support/dispatcher.js';
import { outcome, refusedBy } from '../../support/factories.js';
import { silentLog } from '../../support/silent-log.js';

// The dispatcher's loop on a queue in memory. Nothing scans the queue and no second passes, so that what the states of
// the dispatcher's endpoints and attempts lose stays there.

const LIMITS = { perEndpoint: 2, perClient: 3, total: 6, waiting: 12 };
/** The lease token of another worker. */
const OTHER = 'other';

type Values = [token: string, ids: string[], attempts: number[], limit: number];

interface Row extends LeasedAttempt {
  token: string | null;
}

const step = fc.record({
  kind: fc.constantFrom(
    ...(['commit', 'commit', 'commit', 'notify', 'make', 'answer', 'answer', 'fail', 'stolen', 'turns'] as const),
  ),
  client: fc.nat(2),
  endpoint: fc.nat(1),
  number: fc.nat(9),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

class World {
  readonly rows = new Map<string, Row>();
  readonly slots = new Slots<Job>(LIMITS, { of: (_, max) => max });
  readonly dispatcher: Dispatcher;
  /** Attempts that were asked for by an activity. */
  readonly asked: Promise<unknown>[] = [];
  /** What must not happen. The dispatcher would take a failed expectation for a fault of the sender. */
  readonly faults: string[] = [];
  #inFlight: { clientId: string; url: string; respond: (outcome: SendOutcome) => void }[] = [];
  #ids = 0;
  #leases = 0;
  #ended = false;

  constructor() {
    const attempts = {
      masterKeys: { open: () => 'secret' },
      sender: { send: (outgoing: Outgoing) => this.#send(outgoing) },
      recorder: { waiting: 0, record: (made: MadeAttempt) => this.#record(made) },
      endpointHours: { count: () => undefined },
      metrics: { attemptMade: () => undefined },
      clock: { now: 0 },
      log: silentLog,
    } as unknown as AttemptDependencies;
    const db = {
      query: (text: string, values: Values) => this.#run(text, values),
      hot: (text: string, values: Values) => this.#run(text, values),
    } as unknown as Handle;
    this.dispatcher = new Dispatcher({
      ...{ db, attempts, slots: this.slots, token: 'own', perEndpoint: LIMITS.perEndpoint, retryDelays: [0] },
      workers: { count: 1, of: (_, max) => max },
      wakeUps: NO_WAKE_UPS,
      waiting: async () => ({ queued: false, expired: false }),
      log: silentLog,
    });
  }

  async run({ kind, client, endpoint, number }: Step): Promise<void> {
    const clientId = `c${client}`;
    const endpointId = `${clientId}e${endpoint}`;
    const add = () => this.#add(clientId, endpointId);
    switch (kind) {
      case 'commit': {
        const row = add();
        const { deliveryId, eventId } = row;
        const { token, except } = this.dispatcher.leaseTerms();
        const isLeased = token !== null && !except.includes(endpointId);
        if (isLeased) Object.assign(row, { token, leasedUntil: `${this.#leases++}` });
        void this.dispatcher.committed({
          ...{ eventId, clientId, leasedAt: performance.now() },
          deliveries: [{ deliveryId, endpointId, maxConcurrency: null, ...(isLeased && { leased: { ...row } }) }],
        });
        return;
      }
      case 'notify':
        for (let i = 0; i <= number; i++) add();
        this.dispatcher.expect({ clientId, endpointId, maxConcurrency: null });
        return;
      case 'make':
        this.asked.push(this.dispatcher.take(add()).then((job) => job?.ended.promise));
        return;
      case 'answer':
        return this.#inFlight.splice(number % 3, 1)[0]?.respond(outcome());
      case 'fail':
        return this.#inFlight.splice(number % 3, 1)[0]?.respond(refusedBy(503));
      case 'stolen': {
        const free = [...this.rows.values()].filter(({ token }) => token === null);
        const row = free[number % Math.max(1, free.length)];
        if (row) row.token = OTHER;
        return;
      }
      case 'turns':
        for (let i = 0; i < number; i++) await setImmediate();
    }
  }

  /** All receivers respond. @returns what nobody has made after that */
  async end(): Promise<Row[]> {
    this.#ended = true;
    for (const { respond } of this.#inFlight.splice(0)) respond(outcome());
    const left = () => [...this.rows.values()].filter(({ token }) => token !== OTHER);
    for (let waited = 0; waited < 200 && left().length > 0; waited++) await sleep(5);
    await this.dispatcher.stop();
    return left();
  }

  #add(clientId: string, endpointId: string): Row {
    const deliveryId = `d${this.#ids++}`;
    const row: Row = {
      ...{ deliveryId, eventId: deliveryId, clientId, endpointId, line: 'fresh', number: 1, trigger: 'manual' },
      ...{
        url: `http://${endpointId}/${deliveryId}`,
        secretEnvelope: '',
        maxConcurrency: null,
        maxPerSecond: null,
        body: '',
      },
      ...{ headersEnvelope: null, signsStandard: false, traceparent: null, leasedUntil: '', token: null },
    };
    this.rows.set(deliveryId, row);
    return row;
  }

  async #send({ clientId, url }: Outgoing): Promise<SendOutcome> {
    const { host } = new URL(url);
    const beside = this.#inFlight.filter((one) => one.clientId === clientId);
    if (beside.length >= LIMITS.perClient) this.faults.push(`too many attempts of ${clientId}`);
    if (beside.filter((one) => new URL(one.url).host === host).length >= LIMITS.perEndpoint)
      this.faults.push(`too many attempts at ${host}`);
    if (this.#ended) return outcome();
    return new Promise((respond) => this.#inFlight.push({ clientId, url, respond }));
  }

  /** The first two failures of a delivery are followed at once. */
  async #record({ attempt, outcome: { error } }: MadeAttempt): Promise<RecordedAttempt | undefined> {
    await setImmediate();
    const { deliveryId, number } = attempt;
    const row = this.rows.get(deliveryId);
    if (row?.number !== number || row.token !== 'own') {
      this.faults.push(`attempt ${number} of ${deliveryId} was made twice, or without a lease`);
      return undefined;
    }
    const goesOn = error !== null && number < 3;
    if (goesOn) Object.assign(row, { number: number + 1, token: null });
    else this.rows.delete(deliveryId);
    return { deliveryId, number, status: goesOn ? 'pending' : 'succeeded', isQueued: goesOn, isLocked: false };
  }

  async #run(text: string, [token, ids, attempts, limit]: Values): Promise<unknown[]> {
    await setImmediate();
    const rows = [...this.rows.values()];
    const named = rows.filter(({ deliveryId }) => ids.includes(deliveryId));
    const lease = (some: Row[]) =>
      some.map((row) => ({ ...Object.assign(row, { token, leasedUntil: `${this.#leases++}` }) }));
    if (text.includes('set lease_token = null')) {
      for (const row of named) if (row.token === token) row.token = null;
      return [];
    }
    if (text.startsWith('\nselect q.delivery_id as id')) return named.map(({ deliveryId: id, url }) => ({ id, url }));
    if (text.includes('asked(id)')) return lease(named.filter((row) => row.token === null));
    expect(text).toContain('as k(endpoint_id, attempts)');
    const free = ids.flatMap((id, i) =>
      rows.filter((row) => row.endpointId === id && row.token === null).slice(0, attempts[i]),
    );
    return lease(free.slice(0, limit));
  }
}

test('every attempt is made once, within the limits, without a scan of the queue', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 80, size: 'max' }), async (steps) => {
      const world = new World();
      for (const one of steps) await world.run(one);
      expect(await world.end()).toEqual([]);
      await Promise.all(world.asked);
      expect([world.faults, world.slots.active, world.slots.waiting]).toEqual([[], 0, 0]);
    }),
    { numRuns: 30, interruptAfterTimeLimit: 60_000 },
  );
}, 120_000);
