import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { QueuedEvent } from '../../../src/delivery/handover.js';
import { leaseEvents, markDone } from '../../../src/delivery/outbox.js';
import {
  dropUndue,
  freeExpired,
  giveBack,
  type LeasedRow,
  leaseByName,
  leaseHeads,
  leaseOfEndpoints,
  queueDue,
  queueOverdue,
} from '../../../src/delivery/queue.js';
import { recordAttempts } from '../../../src/delivery/record.js';
import { deliverMissing, resetForRecovery } from '../../../src/delivery/recoveries.js';
import { retryDelivery } from '../../../src/delivery/retry.js';
import type { SendOutcome } from '../../../src/delivery/sender/send.js';
import { disableEndpoint } from '../../../src/endpoints/disable.js';
import { deleteEndpoint } from '../../../src/endpoints/endpoints.js';
import { setEndpointEnabledByOperator } from '../../../src/endpoints/operate.js';
import { LIMITS } from '../../../src/platform/limits.js';
import { changeStatus } from '../../../src/transfers/change-status.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import {
  BY_OPERATOR,
  makeClient,
  makeEndpoint,
  makeTransfer,
  OPERATOR,
  outcome,
  refusedBy,
} from '../../support/factories.js';
import { type Answer, MODEL_LADDER, Model, type ModelJob } from './model.js';

// Random sequences of everything that may happen to deliveries, run with the real statements on a real Postgres. After
// every step each row must be as the model says. `MODEL_SECONDS` and `SEED` come from the environment.

const SECONDS = Number(process.env.MODEL_SECONDS ?? 60);
const WORKERS = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
const ANSWERS = ['failure', 'failure', 'failure', 'failure', 'success', 'gone'] as const satisfies readonly Answer[];

const STEPS = [
  ...['event', 'event', 'eventHere', 'eventHere', 'scan', 'scan', 'refill', 'byName', 'giveBack', 'leaseEnds', 'dies'],
  ...[
    'attempt',
    'attempt',
    'attempt',
    'attempt',
    'attempt',
    'attempt',
    'post',
    'post',
    'record',
    'recordAll',
    'recordAgain',
  ],
  ...['retry', 'recover', 'missing'],
  ...['disable', 'enable', 'enable', 'delete', 'timePasses', 'watchdog', 'queueDue', 'starter', 'starter'],
] as const;
type Step = { kind: (typeof STEPS)[number]; a: number; b: number };

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db?.drop());

/** An attempt that was made and is not recorded yet. */
interface Made {
  job: Job;
  answer: Answer;
  outcome: SendOutcome;
}
type Job = ModelJob & { row: LeasedRow };

class World {
  readonly model = new Model();
  jobs: Job[] = [];
  made: Made[] = [];
  recorded: Made[] = [];
  /** Attempts that were recorded, by delivery. */
  readonly numbers = new Map<string, number>();

  private constructor(
    private readonly clientId: string,
    private readonly retriesOnly: boolean,
  ) {}

  static async make(endpoints: number, retriesOnly: boolean): Promise<World> {
    const clientId = await makeClient(db);
    const world = new World(clientId, retriesOnly);
    for (let i = 0; i < endpoints; i++) {
      const { id } = await makeEndpoint(db, clientId);
      world.model.endpoints.set(id, { id, active: true, deleted: false });
    }
    return world;
  }

  /** @returns false where the step makes no sense now */
  async run({ kind, a, b }: Step): Promise<boolean> {
    const worker = WORKERS[a % 2] ?? WORKERS[0];
    const deliveries = [...this.model.deliveries.values()];
    const delivery = deliveries[b % Math.max(1, deliveries.length)];
    const endpoints = [...this.model.endpoints.values()];
    const endpoint = endpoints[a % endpoints.length];
    const job = this.jobs[b % Math.max(1, this.jobs.length)];
    switch (kind) {
      case 'event':
        return this.#event(null);
      case 'eventHere':
        return this.#event(worker);
      case 'scan': {
        const request = { token: worker, attempts: 1 + (b % 3), allowances: [], limit: 4 };
        return this.#took(worker, (await leaseHeads(db, request, null)).leased);
      }
      case 'refill': {
        const allowances = endpoints.map(({ id }) => ({ endpointId: id, attempts: 2 }));
        return this.#took(worker, await leaseOfEndpoints(db, { token: worker, allowances, limit: 3 }));
      }
      case 'byName':
        return delivery ? this.#took(worker, await leaseByName(db, worker, [delivery.id])) : false;
      case 'giveBack':
        if (!job) return false;
        await giveBack(db, job.worker, [job.deliveryId]);
        this.#forget(job);
        this.model.giveBack(job.deliveryId, job.worker);
        return true;
      case 'leaseEnds':
        if (!delivery?.queued?.holder) return false;
        await db.query(`update queue set lease_until = now() - interval '1 second' where delivery_id = $1::uuid`, [
          delivery.id,
        ]);
        await freeExpired(db);
        this.model.leaseEnds(delivery.id);
        return true;
      case 'dies':
        this.jobs = this.jobs.filter((one) => one.worker !== worker);
        this.made = this.made.filter(({ job: { worker: of } }) => of !== worker);
        return true;
      case 'post':
        return job ? this.#post(job, ANSWERS[a % ANSWERS.length] ?? 'success') : false;
      case 'attempt': {
        if (!job || !(await this.#post(job, ANSWERS[a % ANSWERS.length] ?? 'success'))) return false;
        const made = this.made.find((one) => one.job === job);
        return made ? this.#record([made]) : true;
      }
      case 'record':
        return this.made.length > 0 && this.#record([this.made[b % this.made.length] as Made]);
      case 'recordAll':
        return this.#record(this.made.filter(({ job: { worker: of } }) => of === worker));
      case 'recordAgain': {
        const again = this.recorded[b % Math.max(1, this.recorded.length)];
        if (!again) return false;
        // Its commit succeeded, and the connection broke before the answer.
        expect(await this.#write([again])).toEqual([]);
        return true;
      }
      case 'retry':
        return delivery ? this.#retry(delivery.id) : false;
      case 'recover':
        return endpoint ? this.#recover(endpoint.id) : false;
      case 'missing':
        return endpoint ? this.#missing(endpoint.id) : false;
      case 'disable':
        if (!endpoint?.active) return false;
        await db.transaction((tx) => disableEndpoint(tx, endpoint.id, 'operator'));
        this.model.deactivate(endpoint.id);
        return true;
      case 'enable':
        if (!endpoint || endpoint.active || endpoint.deleted) return false;
        await setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, true);
        endpoint.active = true;
        return true;
      case 'delete':
        if (!endpoint || endpoint.deleted || b % 4 > 0) return false;
        await deleteEndpoint(db, BY_OPERATOR, this.clientId, endpoint.id);
        this.model.deactivate(endpoint.id, { deleted: true });
        return true;
      case 'timePasses':
        if (!delivery?.asleep) return false;
        await db.query(`update deliveries set next_attempt_at = now() - interval '3 minutes' where id = $1::uuid`, [
          delivery.id,
        ]);
        this.model.timePasses(delivery.id);
        return true;
      case 'watchdog': {
        const woken = deliveries.filter(({ id }) => this.model.wake(id, true)).length;
        expect(await queueOverdue(db, 120_000, 500)).toBe(woken);
        return true;
      }
      case 'queueDue':
        if (!delivery) return false;
        expect(await queueDue(db, [delivery.id], 100)).toEqual(
          this.model.wake(delivery.id, false) ? [delivery.id] : [],
        );
        return true;
      case 'starter':
        return this.#start(a);
    }
  }

  /** Compares every row with the model. */
  async check(): Promise<void> {
    const rows = await db.query<Record<string, unknown>>(ROWS, [this.clientId]);
    const expected = [...this.model.deliveries.values()].map((d) => ({
      id: d.id,
      status: d.status,
      count: d.count,
      attempts: d.count,
      rung: d.rung,
      asleep: d.asleep,
      planned: d.status === 'pending',
      recovered: d.recovered,
      queued: d.queued && { line: d.queued.line, trigger: d.queued.trigger, holder: d.queued.holder },
      outbox: this.model.events.get(d.eventId)?.outbox,
      retries: d.retries,
    }));
    const byId = (one: { id?: unknown }, other: { id?: unknown }) => (String(one.id) < String(other.id) ? -1 : 1);
    expect(rows.sort(byId)).toEqual(expected.sort(byId));
    for (const d of this.model.deliveries.values()) {
      // No delivery is lost: what is pending sleeps or is queued, never both.
      if (d.status === 'pending' && d.asleep === (d.queued !== null))
        throw new Error(`${d.id} is pending and neither or both`);
    }
  }

  async #event(holder: string | null): Promise<boolean> {
    const transfer = await makeTransfer(db, this.clientId);
    let event: QueuedEvent | undefined;
    const handover = {
      retryDelays: MODEL_LADDER,
      lease: () => (holder ? { token: holder, full: [] } : null),
      committed: (committed: QueuedEvent) => {
        event = committed;
      },
      queued: () => undefined,
    };
    await changeStatus(db, handover, { transferId: transfer.id, to: 'PROCESSING', reason: null });
    if (!event) throw new Error('the event was not handed over');
    const { eventId, deliveries } = event;
    const added = deliveries.map(({ deliveryId, endpointId }) => ({ id: deliveryId, endpointId }));
    this.model.event(eventId, added, holder);
    if (!holder) return true;
    for (const { deliveryId } of deliveries) {
      const [row] = await db.query<LeasedRow>(LEASED_ROW, [deliveryId]);
      if (row) this.#keep(holder, row);
    }
    return true;
  }

  /** A worker keeps what it leased, unless it has the attempt in flight, and drops what may not be made. */
  async #took(worker: string, rows: readonly LeasedRow[]): Promise<boolean> {
    for (const row of rows) {
      const known = this.model.deliveries.get(row.deliveryId);
      // Another sequence's row, in the same database: it is left alone.
      if (!known) continue;
      expect(known.queued?.holder).toBeNull();
      this.model.lease(row.deliveryId, worker);
      expect({ id: row.deliveryId, isDue: row.isDue }).toEqual({
        id: row.deliveryId,
        isDue: this.model.isDue(row.deliveryId),
      });
      if (!row.isDue) {
        await dropUndue(db, worker, [row.deliveryId]);
        this.model.drop(row.deliveryId, worker);
      } else if (!this.#has(worker, row.deliveryId)) {
        this.#keep(worker, row);
      }
    }
    return true;
  }

  #has(worker: string, deliveryId: string): boolean {
    const held = [...this.jobs, ...this.made.map(({ job }) => job)];
    return held.some((one) => one.worker === worker && one.deliveryId === deliveryId);
  }

  #keep(worker: string, row: LeasedRow): void {
    const { deliveryId, number, trigger, single } = row;
    const d = this.model.deliveries.get(deliveryId);
    expect(number).toBe((d?.count ?? 0) + 1);
    expect(single).toBe(d?.status !== 'pending');
    this.jobs.push({ worker, deliveryId, number, trigger, single, row });
  }

  #forget(job: Job): void {
    this.jobs = this.jobs.filter((one) => one !== job);
  }

  async #post(job: Job, answer: Answer): Promise<boolean> {
    this.#forget(job);
    // The look before an attempt that has waited.
    if (!this.model.isDue(job.deliveryId)) {
      await dropUndue(db, job.worker, [job.deliveryId]);
      this.model.drop(job.deliveryId, job.worker);
      return true;
    }
    if (answer === 'gone') {
      const endpointId = job.row.endpointId;
      if (await db.transaction((tx) => disableEndpoint(tx, endpointId, 'gone')))
        this.model.deactivate(endpointId, { gone: true });
    }
    const made = { success: outcome(), failure: refusedBy(500), gone: refusedBy(410) }[answer];
    // Each POST signs another time.
    const t = new Date(Date.now() + this.recorded.length * 1_000 + this.made.length).toISOString();
    this.made.push({ job, answer, outcome: { ...made, t } });
    return true;
  }

  async #record(batch: readonly Made[]): Promise<boolean> {
    const worker = batch[0]?.job.worker;
    const own = batch.filter(({ job }) => job.worker === worker);
    const ids = new Set<string>();
    const distinct = own.filter(({ job }) => !ids.has(job.deliveryId) && ids.add(job.deliveryId));
    if (!worker || distinct.length === 0) return false;
    this.made = this.made.filter((made) => !distinct.includes(made));
    const before = new Map(
      distinct.map(({ job }) => [job.deliveryId, this.model.deliveries.get(job.deliveryId)?.count ?? 0]),
    );
    const rows = await this.#write(distinct);
    for (const made of distinct) {
      const { job, answer } = made;
      const next = this.model.record(job, answer, job.row.isOnly, this.retriesOnly);
      const recorded = rows.find(({ deliveryId }) => deliveryId === job.deliveryId);
      const d = this.model.deliveries.get(job.deliveryId);
      expect(recorded !== undefined).toBe(d?.count !== before.get(job.deliveryId));
      expect(recorded?.next ?? null).toBe(next?.trigger ?? null);
      if (recorded) this.recorded.push(made);
      if (next) this.jobs.push({ ...job, ...next, single: false, row: job.row });
    }
    return true;
  }

  #write(batch: readonly Made[]) {
    const workflows = this.retriesOnly ? 'retries-only' : 'every-event';
    const attempts = batch.map(({ job, outcome: made }) => ({
      attempt: { ...job.row, number: job.number, trigger: job.trigger, single: job.single },
      outcome: made,
    }));
    return recordAttempts(db, { token: batch[0]?.job.worker ?? WORKERS[0], workflows }, attempts);
  }

  async #retry(id: string): Promise<boolean> {
    const d = this.model.deliveries.get(id);
    const request = { by: BY_OPERATOR, clientId: this.clientId, deliveryId: id };
    const retried = retryDelivery(db, { queued: () => undefined }, request);
    if (!d || !this.model.endpoints.get(d.endpointId)?.active) {
      await expect(retried).rejects.toMatchObject({ code: 'endpoint_not_active' });
    } else if (
      d.retries === LIMITS.retries.amount &&
      !(d.queued && (d.queued.trigger === 'manual' || d.queued.holder))
    ) {
      await expect(retried).rejects.toMatchObject({ code: 'retry_limit_reached' });
    } else {
      await retried;
      this.model.retry(id);
    }
    return true;
  }

  async #recover(endpointId: string): Promise<boolean> {
    const scope = { clientId: this.clientId, endpointId, since: 0, until: Date.now() + 60_000 };
    const ids = await resetForRecovery(db, scope, MODEL_LADDER, null, 2);
    for (const id of ids ?? []) this.model.recover(id);
    return true;
  }

  async #missing(endpointId: string): Promise<boolean> {
    const scope = { clientId: this.clientId, endpointId, since: 0, until: Date.now() + 60_000 };
    const before = new Set(this.model.deliveries.keys());
    await deliverMissing(db, scope, MODEL_LADDER, null, 2);
    const rows = await db.query<{ id: string; eventId: string }>(OF_ENDPOINT, [endpointId]);
    for (const { id, eventId } of rows.filter((row) => !before.has(row.id)))
      this.model.missing({ id, eventId, endpointId });
    expect(new Set(rows.map(({ eventId }) => eventId)).size).toBe(rows.length);
    return true;
  }

  /** The workflow starter, with a record in between or not. */
  async #start(a: number): Promise<boolean> {
    const state = (['again', 'start', 'delivered'] as const)[a % 3] ?? 'again';
    const leased = (await leaseEvents(db, state, 50)).filter(({ eventId }) => this.model.events.has(eventId));
    const raised = new Set<string>();
    const between = this.made[0];
    if (a % 2 === 0 && between) {
      await this.#record([between]);
      raised.add(this.model.deliveries.get(between.job.deliveryId)?.eventId ?? '');
    }
    await markDone(db, state, leased);
    for (const { eventId } of leased) {
      const event = this.model.events.get(eventId);
      if (event?.outbox !== state) continue;
      // A record in between has ended the lease, unless it changed nothing.
      const [row] = await db.query<{ outbox: typeof event.outbox }>(
        'select outbox::text from events where id = $1::uuid',
        [eventId],
      );
      if (!raised.has(eventId)) expect(row?.outbox).toBe('done');
      event.outbox = row?.outbox ?? 'done';
    }
    return true;
  }
}

test('every row is as the table of transitions says, after any sequence of steps', async () => {
  let sequences = 0;
  let steps = 0;
  const kinds = new Map<string, number>();
  const step = fc.record({ kind: fc.constantFrom(...STEPS), a: fc.nat(1_000), b: fc.nat(1_000) });
  const until = performance.now() + SECONDS * 1_000;
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 3 }),
    fc.boolean(),
    fc.array(step, { minLength: 10, maxLength: 80, size: 'max' }),
    async (endpoints, retriesOnly, sequence) => {
      await db.query('delete from queue', []);
      await db.query(`update events set outbox = 'done' where outbox <> 'done'`, []);
      await db.query(`update deliveries set asleep = false where asleep`, []);
      const world = await World.make(endpoints, retriesOnly);
      for (const one of sequence) {
        if (!(await world.run(one))) continue;
        await world.check();
        steps++;
        kinds.set(one.kind, (kinds.get(one.kind) ?? 0) + 1);
      }
      sequences++;
    },
  );
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
  const limit = { interruptAfterTimeLimit: Math.max(1, until - performance.now()), markInterruptAsFailure: false };
  await fc.assert(property, { seed, numRuns: 1_000_000, ...limit, endOnFailure: SECONDS < 1 });
  process.stderr.write(`model: SEED=${seed}, ${sequences} sequences, ${steps} steps\n`);
  expect([...new Set(STEPS)].filter((kind) => !kinds.has(kind))).toEqual([]);
});

const ROWS = `
select d.id::text, d.status::text, d.attempt_count as count, d.rung, d.asleep, d.next_attempt_at is not null as planned,
       d.recovered, v.outbox::text as outbox,
       (select count(*)::int from attempts a where a.delivery_id = d.id and a.number <= d.attempt_count) as attempts,
       (select json_build_object('line', q.line, 'trigger', q.trigger, 'holder', q.lease_token)
          from queue q where q.delivery_id = d.id) as queued,
       coalesce((select cardinality(l.uses) from limit_uses l where l.name = 'retries' and l.key = d.id::text), 0) as retries
  from deliveries d join events v on v.id = d.event_id
 where d.client_id = $1::uuid`;

const OF_ENDPOINT = `select id::text, event_id::text as "eventId" from deliveries where endpoint_id = $1::uuid`;

/** A row that the insert leased, as a lease returns it. */
const LEASED_ROW = `
select q.delivery_id::text as "deliveryId", d.event_id::text as "eventId", q.client_id::text as "clientId",
       q.endpoint_id::text as "endpointId", q.line::text as line, 1 as number, q.trigger, false as single, e.url,
       e.secret_envelope as "secretEnvelope", null as "maxConcurrency", v.body, null as traceparent,
       not exists (select from deliveries s where s.event_id = d.event_id and s.id <> d.id) as "isOnly", true as "isDue"
  from queue q join deliveries d on d.id = q.delivery_id join events v on v.id = d.event_id
  join webhook_endpoints e on e.id = d.endpoint_id where q.delivery_id = $1::uuid`;
