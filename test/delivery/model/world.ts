import { expect } from '@jest/globals';
import { type LeasedAttempt, NOTHING_LEASED, type QueuedEvent } from '../../../src/delivery/handover.js';
import { leaseById, leaseOfEndpoints, readHeads } from '../../../src/delivery/lease.js';
import { type LeasedEvent, leaseAgain, leaseEvents, markDone } from '../../../src/delivery/outbox.js';
import { freeExpired, giveBack, queueDue, queueOverdue, readTargets } from '../../../src/delivery/queue.js';
import { type RecordedAttempt, Recorder, recordAttempts, recordAttemptsAgain } from '../../../src/delivery/record.js';
import { retryDelivery } from '../../../src/delivery/retry.js';
import type { SendOutcome } from '../../../src/delivery/sender/send.js';
import { readDelivery, readStarts } from '../../../src/delivery/workflow-starter.js';
import { cancelLeft, cancelPending, disableEndpoint } from '../../../src/endpoints/disable.js';
import { deleteEndpoint, setEndpointEnabledByOperator } from '../../../src/endpoints/endpoints.js';
import type { Handle } from '../../../src/platform/database/database.js';
import { newId, timeOf } from '../../../src/platform/ids.js';
import { deliverMissing, resetForRecovery } from '../../../src/recoveries/batches.js';
import { changeStatus } from '../../../src/transfers/change-status.js';
import { BY_OPERATOR, makeClient, makeEndpoint, OPERATOR, outcome, refusedBy } from '../../support/factories.js';
import { silentLog } from '../../support/silent-log.js';
import type { ClockedDatabase } from './clock.js';
import { type Answer, Model, type ModelDelivery, type ModelJob } from './model.js';
import { ROWS, readAll, restoreAll, type Saved } from './rows.js';

const LADDERS: readonly (readonly number[])[] = [[0, 60_000], [0, 60_000], [60_000, 0, 300_000], [0, 0, 3_600_000], []];
const ANSWERS = [
  'failure',
  'failure',
  'failure',
  'hang',
  'success',
  'success',
  'gone',
] as const satisfies readonly Answer[];
/** ms; a lease has ended after the third, a delivery is overdue for the watchdog after the fifth */
const TIMES = [1_000, 11_000, 31_000, 61_000, 181_000, 301_000, 3_600_000];
const BACK = [5_000, 20_000, 40_000, 90_000, 3_600_000];
/** The dispatcher gives an attempt back that has waited longer than this after its lease, ms. */
const GIVEN_BACK_AFTER = 10_000;
const OVERDUE = 120_000;

/** Each kind of step, as often as it is to be drawn. */
const WEIGHTS = {
  ...{ event: 2, eventHere: 3, time: 4, clockBack: 1 },
  ...{ scan: 3, scanLost: 1, refill: 1, byName: 1, giveBack: 1, freeExpired: 2, dies: 1 },
  ...{ make: 8, attempt: 5, post: 4, overtaken: 2, record: 3, recordAll: 2, recordAgain: 1, recordBad: 1, refused: 2 },
  ...{ retry: 3, recover: 2, missing: 1, disable: 1, disableLarge: 1, cancelBatch: 2, enable: 3, delete: 1 },
  ...{ watchdog: 2, look: 3, startWorkflows: 3, markDone: 3, starterDies: 1, workflowLost: 1, save: 1, restore: 1 },
} as const;
type Kind = keyof typeof WEIGHTS;
export const KINDS = (Object.keys(WEIGHTS) as Kind[]).flatMap((kind) => Array<Kind>(WEIGHTS[kind]).fill(kind));

export interface Step {
  kind: Kind;
  a: number;
  b: number;
}

type Job = ModelJob & { row: LeasedAttempt; leasedAt: number; leasedUntil: string };
/** An attempt that was made and is not recorded yet. */
interface Made {
  job: Job;
  answer: Answer;
  outcome: SendOutcome;
  /** A 410 after whose record the process lives and reaches Postgres: it disables the endpoint. */
  disables: boolean;
}

/** Events whose workflows have started, and that are not marked done yet. */
interface Start {
  leased: LeasedEvent[];
  leaseUntil: number;
}

const pick = <T>(from: readonly T[], by: number): T | undefined => from[by % Math.max(1, from.length)];
const ids = (rows: readonly { deliveryId: string }[]) => rows.map(({ deliveryId }) => deliveryId).sort();

/** One client with its endpoints, two workers and a workflow starter, on the real statements and in the model. */
export class World {
  readonly model: Model;
  #jobs: Job[] = [];
  #made: Made[] = [];
  #recorded: Made[] = [];
  #starts: Start[] = [];
  #saved: { rows: Saved; model: Pick<Model, 'deliveries' | 'events' | 'endpoints'> } | undefined;
  /** The lease tokens of the workers. A worker that dies comes back with another one. */
  readonly #tokens = [newId(), newId()];
  /** The clock of the processes, which nobody sets back, ms. */
  #elapsed = 0;
  #posts = 0;

  private constructor(
    private readonly db: ClockedDatabase,
    private readonly clientId: string,
    private readonly retriesOnly: boolean,
  ) {
    this.model = new Model(Math.floor(Date.now() / 1_000) * 1_000 + 60_000);
  }

  static async make(db: ClockedDatabase, endpoints: number, retriesOnly: boolean): Promise<World> {
    await db.query('truncate queue, outbox, attempts, deliveries, events, limit_uses', []);
    const world = new World(db, await makeClient(db), retriesOnly);
    await db.setTime(world.model.now);
    for (let i = 0; i < endpoints; i++) {
      const { id } = await makeEndpoint(db, world.clientId);
      world.model.endpoints.set(id, { id, active: true, deleted: false, cancelling: false, reason: null });
    }
    return world;
  }

  /** @returns false where the step makes no sense now */
  async run({ kind, a, b }: Step): Promise<boolean> {
    const { db, model } = this;
    const token = pick(this.#tokens, a) as string;
    const deliveries = [...model.deliveries.values()];
    const delivery = pick(deliveries, b);
    const endpoints = [...model.endpoints.values()];
    const endpoint = pick(endpoints, a);
    const job = pick(this.#jobs, b);
    const answer = pick(ANSWERS, a) as Answer;
    switch (kind) {
      case 'event':
        return this.#event(null, pick(LADDERS, b) ?? []);
      case 'eventHere':
        return this.#event(token, pick(LADDERS, b) ?? []);
      case 'time':
        return this.#pass(pick(TIMES, b) ?? 0);
      case 'clockBack':
        model.now -= pick(BACK, b) ?? 0;
        await db.setTime(model.now);
        return true;
      case 'scan':
      case 'scanLost': {
        const [attempts, limit] = [1 + (b % 3), 1 + (b % 5)];
        const free = this.#freeLines(endpoints.map(({ id }) => id));
        const leased = await this.#scan(token, attempts, limit);
        this.#judgeScan(leased, free, attempts, limit);
        return this.#took(token, leased, kind === 'scan');
      }
      case 'refill': {
        const some = endpoints.filter((_, i) => (b >> i) % 2 === 0).map(({ id }) => id);
        const free = this.#freeLines(some);
        const allowances = some.map((endpointId) => ({ endpointId, attempts: 2 }));
        const leased = await leaseOfEndpoints(db, { token, allowances, limit: 3 });
        this.#judgeScan(leased, free, 2, 3);
        return this.#took(token, leased);
      }
      case 'byName':
        return delivery !== undefined && this.#byId(token, delivery);
      case 'giveBack':
        if (!job) return false;
        await this.#giveBack(job);
        return true;
      case 'freeExpired':
        expect((await freeExpired(db)).map(({ endpointId }) => endpointId).sort()).toEqual(model.freeExpired());
        return true;
      case 'dies':
        this.#jobs = this.#jobs.filter((one) => one.token !== token);
        this.#made = this.#made.filter((made) => made.job.token !== token);
        this.#tokens[a % 2] = newId();
        return true;
      case 'post':
        return job !== undefined && this.#post(job, answer, b);
      case 'attempt':
        return job !== undefined && this.#attempt(job, answer, b);
      case 'make':
        return delivery !== undefined && this.#make(token, delivery, answer, b);
      case 'overtaken':
        return job !== undefined && this.#overtaken(job, answer, b);
      case 'record': {
        const made = pick(this.#made, b);
        return made !== undefined && this.#record([made]);
      }
      case 'recordAll':
        return this.#record(this.#made);
      case 'recordAgain': {
        const made = pick(this.#recorded, b);
        if (!made) return false;
        // Its commit succeeded, and the connection broke before the result arrived.
        expect(await recordAttemptsAgain(db, this.#options(made.job.token), [attemptOf(made)])).toEqual([]);
        return true;
      }
      case 'recordBad':
        return this.#recordBad();
      case 'refused':
        return this.#refused({ token, delivery, endpointId: endpoint?.id });
      case 'retry':
        return delivery !== undefined && this.#retry(delivery);
      case 'recover': {
        if (!endpoint) return false;
        const ladder = pick(LADDERS, b) ?? [];
        const part = { ...this.#scope(endpoint.id), after: null, limit: 2, retryDelays: ladder };
        const phase = b % 3 === 0 ? 'pending' : 'ended';
        const recovered = await resetForRecovery(db, part, phase);
        expect(recovered.ids).toEqual(model.recover(endpoint.id, { phase, ladder, limit: 2 }));
        return true;
      }
      case 'missing':
        return endpoint !== undefined && this.#missing(endpoint.id, pick(LADDERS, b) ?? []);
      case 'disable':
        if (!endpoint?.active) return false;
        await db.transaction((tx) => disableEndpoint(tx, endpoint.id, 'operator'));
        model.deactivate(endpoint.id, { reason: 'operator' });
        return true;
      case 'disableLarge':
        // As after the first batch of a backlog of more than 1,000 deliveries, none of which is one of these.
        if (!endpoint?.active) return false;
        await db.query(DISABLE_LARGE, [endpoint.id]);
        model.deactivate(endpoint.id, { reason: 'operator', large: true });
        return true;
      case 'cancelBatch':
        if (!endpoint?.cancelling) return false;
        expect(await db.transaction((tx) => cancelPending(tx, endpoint.id))).toMatchObject({ more: false });
        model.cancelPending(endpoint.id);
        return true;
      case 'enable': {
        if (!endpoint || endpoint.active || endpoint.deleted) return false;
        const enabled = setEndpointEnabledByOperator(db, OPERATOR, endpoint.id, true);
        if (endpoint.cancelling) await expect(enabled).rejects.toMatchObject({ code: 'cancellation_in_progress' });
        else Object.assign(endpoint, { active: (await enabled).enabled, reason: null });
        return true;
      }
      case 'delete':
        if (!endpoint || endpoint.deleted || b % 4 > 0) return false;
        await deleteEndpoint(db, BY_OPERATOR, this.clientId, endpoint.id);
        model.deactivate(endpoint.id, { deleted: true });
        return true;
      case 'watchdog':
        return this.#watch(1 + (b % 3));
      case 'look': {
        const followed = deliveries.filter(({ id, eventId }) => model.events.get(eventId)?.follows?.has(id));
        const one = pick(followed, b);
        return one !== undefined && this.#look(token, one);
      }
      case 'startWorkflows':
        return this.#startWorkflows();
      case 'markDone': {
        const start = this.#starts.shift();
        return start !== undefined && this.#markDone(start);
      }
      case 'starterDies':
        this.#starts = [];
        return true;
      case 'workflowLost':
        for (const event of model.events.values()) {
          if (event.follows?.size) Object.assign(event, { follows: null, isLost: true });
        }
        return true;
      case 'save': {
        const { deliveries: d, events, endpoints: e } = model;
        const saved = structuredClone({ deliveries: d, events, endpoints: e });
        this.#saved = { rows: await readAll(db, this.clientId), model: saved };
        return true;
      }
      case 'restore':
        return this.#restore();
    }
  }

  /** Compares every row with the model, and the model with what every state must satisfy. */
  async check(): Promise<void> {
    const { model } = this;
    const found = await this.db.query<{ id: string; retries: number[] }>(ROWS, [
      this.clientId,
      new Date(model.now + 1).toISOString(),
    ]);
    // Uses whose window has ended leave the table some time later.
    const rows = found.map(({ retries, ...row }) => ({ ...row, isCounted: retries.includes(model.now) }));
    const expected = [...model.deliveries.values()].map((d) => ({
      id: d.id,
      status: d.status,
      count: d.count,
      attempts: d.count,
      last: d.count,
      rung: d.rung,
      ladder: d.ladder,
      asleep: d.asleep,
      nextAt: d.nextAt,
      recovered: d.recovered,
      queued: d.queued,
      outbox: model.events.get(d.eventId)?.outbox ?? null,
      leaseUntil: model.events.get(d.eventId)?.leaseUntil ?? null,
      isCounted: d.retries.includes(model.now),
    }));
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    expect(rows.sort(byId)).toEqual(expected.sort(byId));
    expect(model.faults()).toEqual([]);
    // The statement has set the clock: each step has its own time.
    model.now++;
    this.#elapsed++;
  }

  /** Ends every outage. @throws if a delivery stays pending, or an attempt stays queued */
  async drain(): Promise<void> {
    const { db, model } = this;
    this.#jobs = [];
    this.#made = [];
    const busy = () => [...model.deliveries.values()].filter((d) => d.status === 'pending' || d.queued);
    for (let round = 0; round < 8 && busy().length > 0; round++) {
      await this.#pass(86_400_000);
      const token = newId();
      await this.#scan(token, 0, 0);
      for (const { id, cancelling } of model.endpoints.values())
        if (cancelling) await this.run({ kind: 'cancelBatch', a: [...model.endpoints.keys()].indexOf(id), b: 0 });
      await freeExpired(db);
      model.freeExpired();
      await this.#watch(500);
      await this.#took(token, await this.#scan(token, 100, 200));
      // Failures first, so that whatever was pending sleeps and wakes once more.
      for (const job of this.#jobs) await this.#post(job, round < 2 ? 'failure' : 'success', 0);
      await this.#record(this.#made);
      await this.check();
    }
    expect(busy()).toEqual([]);
  }

  async #pass(ms: number): Promise<true> {
    this.model.now += ms;
    this.#elapsed += ms;
    await this.db.setTime(this.model.now);
    return true;
  }

  #options(token: string) {
    return { token, workflows: this.retriesOnly ? ('retries-only' as const) : ('every-event' as const) };
  }

  #scope(endpointId: string) {
    return { clientId: this.clientId, endpointId, since: 0, until: 2 ** 47 };
  }

  async #event(token: string | null, ladder: readonly number[]): Promise<boolean> {
    const { db, model } = this;
    const transferId = newId();
    await db.query(MAKE_TRANSFER, [transferId, this.clientId]);
    let event: QueuedEvent | undefined;
    const handover = {
      retryDelays: ladder,
      leaseTerms: () => NOTHING_LEASED,
      committed(committed: QueuedEvent) {
        event = committed;
        return undefined;
      },
      queued: () => undefined,
    };
    await changeStatus(db, handover, { transferId, to: 'PROCESSING', reason: null });
    if (!event) throw new Error('the event was not handed over');
    const { eventId, deliveries } = event;
    const added = deliveries.map(({ deliveryId, endpointId }) => ({ id: deliveryId, endpointId }));
    const active = [...model.endpoints.values()].filter((endpoint) => endpoint.active).map(({ id }) => id);
    expect(added.map(({ endpointId }) => endpointId).sort()).toEqual(active.sort());
    model.event(eventId, added, { at: timeOf(eventId), ladder });
    if (!token) return true;
    const leased = await leaseById(
      db,
      token,
      added.map(({ id }) => id),
    );
    expect(ids(leased).sort()).toEqual(added.map(({ id }) => id).sort());
    return this.#took(token, leased);
  }

  /** The free rows of each line of the endpoints, in the order of their turns. */
  #freeLines(endpointIds: readonly string[]): string[][] {
    const free = [...this.model.deliveries.values()].flatMap(({ id, endpointId, queued }) =>
      queued && queued.until === null && this.model.endpoints.get(endpointId)?.active
        ? [{ id, endpointId, ...queued }]
        : [],
    );
    free.sort((one, other) => one.due - other.due || (one.id < other.id ? -1 : 1));
    return endpointIds.flatMap((of) =>
      ['fresh', 'late'].map((line) => free.filter((q) => q.endpointId === of && q.line === line).map(({ id }) => id)),
    );
  }

  /** A scan takes as many as it may, and the oldest of each line. */
  #judgeScan(leased: readonly LeasedAttempt[], lines: readonly string[][], attempts: number, limit: number): void {
    const room = lines.reduce((sum, line) => sum + Math.min(line.length, attempts), 0);
    expect(leased).toHaveLength(Math.min(limit, room));
    const taken = new Set(ids(leased));
    for (const line of lines) {
      const count = line.filter((id) => taken.has(id)).length;
      expect(count).toBeLessThanOrEqual(attempts);
      expect(line.slice(0, count).every((id) => taken.has(id))).toBe(true);
    }
  }

  /** Leases of the active endpoints that a scan finds. What waits for the others is to be cancelled. */
  async #scan(token: string, attempts: number, limit: number): Promise<LeasedAttempt[]> {
    const { heads } = await readHeads(this.db, null);
    const of = (active: boolean) => [
      ...new Set(heads.filter(({ isActive }) => isActive === active).map(({ endpointId }) => endpointId)),
    ];
    await cancelLeft(this.db, of(false));
    this.model.cancelLeft(of(false));
    const found = of(true);
    return leaseOfEndpoints(this.db, {
      token,
      allowances: found.map((endpointId) => ({ endpointId, attempts })),
      limit,
    });
  }

  /** A worker keeps what it leased, unless it has the attempt in flight. */
  async #took(token: string, rows: readonly LeasedAttempt[], keeps = true): Promise<true> {
    const { model } = this;
    for (const row of rows) {
      const id = row.deliveryId;
      expect(model.isFree(model.get(id).queued?.until ?? null)).toBe(true);
      model.lease(id, token);
      if (!keeps) continue;
      const held = [...this.#jobs, ...this.#made.map(({ job }) => job)].find(
        (job) => job.token === token && job.deliveryId === id,
      );
      if (held) held.leasedUntil = row.leasedUntil;
      else this.#keep(token, row);
    }
    return true;
  }

  #keep(token: string, row: LeasedAttempt): void {
    const { deliveryId, number, trigger } = row;
    const d = this.model.get(deliveryId);
    const { line, trigger: queuedBy } = d.queued ?? {};
    expect({ number, line: row.line, trigger }).toEqual({
      number: d.count + 1,
      line,
      trigger: queuedBy,
    });
    const until = Date.parse(row.leasedUntil);
    const lease = { until, leasedUntil: row.leasedUntil, leasedAt: this.#elapsed };
    this.#jobs.push({ token, deliveryId, number, trigger, line: row.line, row, ...lease });
  }

  async #byId(token: string, { id, queued }: ModelDelivery): Promise<true> {
    const rows = await leaseById(this.db, token, [id]);
    expect(ids(rows)).toEqual(queued && this.model.isFree(queued.until) && this.model.isDue(id) ? [id] : []);
    return this.#took(token, rows);
  }

  async #giveBack(job: Job): Promise<void> {
    const { deliveryId, token, leasedUntil } = job;
    await giveBack(this.db, token, [job]);
    this.#jobs = this.#jobs.filter((one) => one !== job);
    if (this.model.deliveries.has(deliveryId)) this.model.giveBack(deliveryId, token, Date.parse(leasedUntil));
  }

  /** A worker leases a delivery by id, makes the attempt and records it. */
  async #make(token: string, delivery: ModelDelivery, answer: Answer, b: number): Promise<boolean> {
    await this.#byId(token, delivery);
    const leased = this.#jobs.find((one) => one.token === token && one.deliveryId === delivery.id);
    return !leased || this.#attempt(leased, answer, b);
  }

  async #attempt(job: Job, answer: Answer, b: number): Promise<boolean> {
    await this.#post(job, answer, b);
    const made = this.#made.find((one) => one.job === job);
    return made ? this.#record([made]) : true;
  }

  /**
   * An attempt is so slow that its lease has ended: another worker has made and recorded the attempt before its
   * success, or has leased it, or a manual retry has taken over its row.
   */
  async #overtaken(job: Job, answer: Answer, b: number): Promise<boolean> {
    const meanwhile = b % 3;
    await this.#post(job, meanwhile === 0 ? 'success' : answer, b);
    const slow = this.#made.find((one) => one.job === job);
    if (!slow) return true;
    await this.#pass(31_000);
    const delivery = this.model.get(job.deliveryId);
    const token = this.#tokens.find((one) => one !== job.token) as string;
    if (meanwhile === 0) await this.#make(token, delivery, answer, b);
    else if (meanwhile === 1) await this.#byId(token, delivery);
    else await this.#retry(delivery);
    return this.#record([slow]);
  }

  /** The look before an attempt, and the POST. */
  async #post(job: Job, answer: Answer, b: number): Promise<boolean> {
    const { db, model } = this;
    const { deliveryId, token } = job;
    if (this.#elapsed - job.leasedAt > GIVEN_BACK_AFTER) {
      await this.#giveBack(job);
      return true;
    }
    this.#jobs = this.#jobs.filter((one) => one !== job);
    const known = model.deliveries.get(deliveryId);
    const isOwn = known?.queued?.holder === token && known.queued.until === job.until;
    const isDue = isOwn && model.isDue(deliveryId);
    expect((await readTargets(db, token, [job.row])).map(Boolean)).toEqual([isDue]);
    if (!isDue) {
      await this.#giveBack(job);
      return true;
    }
    if (answer === 'hang') await this.#pass(15_000);
    const timeout = outcome({ responseStatus: null, error: 'timeout' });
    const made = { success: outcome(), failure: refusedBy(500), gone: refusedBy(410), hang: timeout }[answer];
    // Each POST signs another time.
    const signed = { ...made, t: new Date(++this.#posts * 1_000).toISOString() };
    this.#made.push({ job, answer, outcome: signed, disables: answer === 'gone' && b % 3 > 0 });
    return true;
  }

  /** Records what one worker has made. */
  async #record(batch: readonly Made[]): Promise<boolean> {
    const distinct = this.#takeMade(batch);
    const token = distinct[0]?.job.token;
    if (!token) return false;
    const recorded = await recordAttempts(this.db, this.#options(token), distinct.map(attemptOf));
    const due = this.model.record(distinct, this.retriesOnly);
    for (const [i, made] of distinct.entries()) {
      const row = recorded.find(({ deliveryId }) => deliveryId === made.job.deliveryId);
      await this.#recordedAs(made, row, due[i]);
      const d = this.model.deliveries.get(made.job.deliveryId);
      if (row) expect([row.number, row.status]).toEqual([d?.count, d?.status]);
    }
    await this.#disableGone(distinct);
    return true;
  }

  /** Postgres refuses the row of one response, and the recorder writes every row by itself. */
  async #recordBad(): Promise<boolean> {
    const distinct = this.#takeMade(this.#made);
    const token = distinct[0]?.job.token;
    if (!token) return false;
    const bad = distinct.map((made, i) =>
      i > 0 ? made : { ...made, outcome: { ...made.outcome, responseBody: '\u0000' } },
    );
    const recorder = new Recorder(this.db, this.#options(token), silentLog);
    const recorded = await Promise.all(bad.map((made) => recorder.record(attemptOf(made))));
    for (const [i, made] of distinct.entries()) {
      const [isDue] = this.model.record([made], this.retriesOnly);
      await this.#recordedAs(made, recorded[i], isDue);
    }
    await this.#disableGone(distinct);
    return true;
  }

  /** What follows the record of a 410. */
  async #disableGone(batch: readonly Made[]): Promise<void> {
    const { db, model } = this;
    for (const { job, disables } of batch) {
      const { endpointId } = job.row;
      if (disables && (await db.transaction((tx) => disableEndpoint(tx, endpointId, 'gone'))) !== undefined)
        model.deactivate(endpointId, { reason: 'gone' });
    }
  }

  #takeMade(from: readonly Made[]): Made[] {
    const seen = new Set<string>();
    const own = from.filter(({ job }) => job.token === from[0]?.job.token);
    const distinct = own.filter(({ job }) => !seen.has(job.deliveryId) && seen.add(job.deliveryId));
    this.#made = this.#made.filter((made) => !distinct.includes(made));
    return distinct;
  }

  async #recordedAs(made: Made, real: RecordedAttempt | undefined, isDue: boolean | undefined): Promise<void> {
    expect(real?.isQueued).toBe(isDue);
    if (real) this.#recorded.push(made);
    if (!real || made.job.leasedUntil !== made.job.row.leasedUntil) await this.#giveBack(made.job);
  }

  /** Postgres does the work of a statement and rolls it back. */
  async #refused(given: {
    token: string;
    delivery: ModelDelivery | undefined;
    endpointId: string | undefined;
  }): Promise<boolean> {
    const { token, delivery, endpointId } = given;
    const made = this.#takeMade(this.#made);
    this.#made.unshift(...made);
    const id = delivery?.id ?? newId();
    const work = async (tx: Handle) => {
      if (made[0]) await recordAttempts(tx, this.#options(made[0].job.token), made.map(attemptOf));
      await queueDue(tx, [id], 0);
      await leaseById(tx, token, [id]);
      if (endpointId) await disableEndpoint(tx, endpointId, 'owner');
      throw new Error('refused');
    };
    await expect(this.db.transaction(work)).rejects.toThrow('refused');
    return true;
  }

  async #retry({ id, endpointId, queued, retries }: ModelDelivery): Promise<boolean> {
    const { db, model } = this;
    const isSettled = queued && (queued.trigger === 'manual' || !model.isFree(queued.until));
    // The process remembers for a second of real time that a limit is reached.
    if (retries.length === 10 && !isSettled) return false;
    let wasQueued = false;
    const handover = {
      queued() {
        wasQueued = true;
      },
    };
    const retried = retryDelivery(db, handover, { by: BY_OPERATOR, clientId: this.clientId, deliveryId: id });
    if (!model.endpoints.get(endpointId)?.active) {
      await expect(retried).rejects.toMatchObject({ code: 'endpoint_not_active' });
      return true;
    }
    await retried;
    expect(wasQueued).toBe(model.retry(id));
    return true;
  }

  async #missing(endpointId: string, ladder: readonly number[]): Promise<true> {
    const { db, model } = this;
    const without = [...model.events.keys()].filter((id) => !model.of(id).some((d) => d.endpointId === endpointId));
    const expected = model.endpoints.get(endpointId)?.active ? without.sort().slice(0, 2) : [];
    const part = { ...this.#scope(endpointId), after: null, limit: 2, retryDelays: ladder };
    const { recovered } = await deliverMissing(db, part);
    expect(recovered).toBe(expected.length);
    const rows = await db.query<{ id: string; eventId: string }>(OF_EVENTS, [endpointId, expected]);
    for (const { id, eventId } of rows) model.missing({ id, endpointId }, eventId, ladder);
    return true;
  }

  /** The most overdue ones, and the workflows of their events. */
  async #watch(limit: number): Promise<true> {
    const { db, model } = this;
    const before = [...model.deliveries.values()].filter((d) => d.asleep);
    const overdue = before.filter((d) => (d.nextAt ?? 0) < model.now - OVERDUE);
    expect(await queueOverdue(db, OVERDUE, limit)).toHaveLength(Math.min(limit, overdue.length));
    const rows = await db.query<{ id: string }>(
      `select delivery_id::text as id from queue where delivery_id = any($1::uuid[])`,
      [before.map(({ id }) => id)],
    );
    const queued = rows.map(({ id }) => model.get(id));
    const latest = Math.max(0, ...queued.map(({ nextAt }) => nextAt ?? 0));
    const left = overdue.filter((d) => !queued.includes(d));
    expect(left.every(({ nextAt }) => (nextAt ?? 0) >= latest)).toBe(true);
    for (const { id, eventId } of queued) {
      expect(model.wake(id, OVERDUE)).toBe(true);
      model.askAgain(eventId);
    }
    return true;
  }

  /** The activity `deliver`: it queues what is due, reads the row, and leases it for its own process. */
  async #look(token: string, d: ModelDelivery): Promise<true> {
    const { db, model } = this;
    const early = 100;
    expect(await queueDue(db, [d.id], early)).toEqual(model.wake(d.id, -early) ? [d.id] : []);
    const row = (await readDelivery(db, d.id))?.progress;
    const wait = d.nextAt === null ? null : Math.max(0, d.nextAt - model.now);
    expect(row).toMatchObject({ status: d.status, attemptCount: d.count, wait });
    expect(toTime(row?.nextAttemptAt ?? null)).toBe(d.nextAt);
    model.look(d.id);
    if (d.status === 'pending' && wait !== null && wait <= early) await this.#byId(token, d);
    return true;
  }

  /** The workflow starter leases events, reads their rows and starts or wakes their workflows. */
  async #startWorkflows(): Promise<boolean> {
    const { db, model } = this;
    const due = [...model.events.values()].filter((one) => one.outbox !== null && model.isFree(one.leaseUntil));
    const { events } = await leaseEvents(db, 3, null);
    expect(events.map(({ eventId }) => eventId)).toEqual(
      due
        .sort((one, other) => model.byUrgency(one, other))
        .slice(0, 3)
        .map(({ id }) => id),
    );
    if (events.length === 0) return false;
    const leaseUntil = model.now + 30_000;
    for (const { eventId } of events) Object.assign(model.events.get(eventId) ?? {}, { leaseUntil });
    const early: LeasedEvent[] = [];
    for (const { event, input, isQueued } of await readStarts(db, events)) {
      const { eventId, state } = event;
      const known = model.of(eventId);
      const rows = input.deliveries.map(({ deliveryId, status, attemptCount }) => [deliveryId, status, attemptCount]);
      expect(rows).toEqual(known.map(({ id, status, count }) => [id, status, count]).sort());
      expect(isQueued).toBe(known.some((d) => d.status === 'pending' && !d.asleep && d.count === 0));
      const isNeeded = known.some(({ status }) => status === 'pending' || status === 'failed') || state === 'again';
      if (state === 'delivered' && isQueued) early.push(event);
      else if (!this.retriesOnly || isNeeded) model.startWorkflow(eventId, state);
    }
    await leaseAgain(db, early, 2);
    for (const { eventId } of early) Object.assign(model.events.get(eventId) ?? {}, { leaseUntil: model.now + 2_000 });
    this.#starts.push({ leased: events.filter((one) => !early.includes(one)), leaseUntil });
    return true;
  }

  async #markDone({ leased, leaseUntil }: Start): Promise<true> {
    await markDone(this.db, leased);
    for (const { eventId } of leased) {
      const event = this.model.events.get(eventId);
      // A raised state has ended the lease.
      if (event?.leaseUntil === leaseUntil) Object.assign(event, { outbox: null, leaseUntil: null });
    }
    return true;
  }

  /** Postgres is restored. The workers and the workflows know more than its rows. */
  async #restore(): Promise<boolean> {
    const { model } = this;
    if (!this.#saved) return false;
    await restoreAll(this.db, this.clientId, this.#saved.rows);
    const saved = structuredClone(this.#saved.model);
    for (const event of saved.events.values()) {
      const { follows = null, isKnown = false } = model.events.get(event.id) ?? {};
      Object.assign(event, { follows, isKnown, isLost: true });
    }
    Object.assign(model, saved);
    this.#recorded = [];
    this.#starts = [];
    return true;
  }
}

const toTime = (text: string | null) => (text === null ? null : Date.parse(text));

function attemptOf({ job, outcome: made }: Made) {
  const { number, trigger } = job;
  return { attempt: { ...job.row, number, trigger }, outcome: made };
}

const MAKE_TRANSFER = `
with made as (
  insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, updated_at)
  values ($1::uuid, $2::uuid, 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051', now()) returning id
)
insert into transfer_status_history (transfer_id, position, status, at) select id, 0, 'CREATED', now() from made`;

const DISABLE_LARGE = `
update webhook_endpoints set enabled = false, disabled_reason = 'operator', cancelling_after = '00000000-0000-0000-0000-000000000000'
 where id = $1::uuid`;

const OF_EVENTS = `
select id::text, event_id::text as "eventId" from deliveries where endpoint_id = $1::uuid and event_id = any($2::uuid[])`;
