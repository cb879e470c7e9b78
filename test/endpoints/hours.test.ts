import fc from 'fast-check';
import { bucketOf, EndpointHours, HOUR, quantileOf, sumOf } from '../../src/endpoints/hours.js';
import { newId } from '../../src/platform/ids.js';
import { openTestDatabase } from '../support/database.js';
import { outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const db = await openTestDatabase();

const read = (endpointId: string) =>
  db.prisma.endpointHour.findMany({ where: { endpointId }, orderBy: { hour: 'asc' } });
const at = (hour: number, minute: number) => new Date(Date.UTC(2026, 10, 22, hour, minute));

describe('EndpointHours', () => {
  it('adds up the attempts that two processes counted, in the hour in which each started', async () => {
    const endpointId = newId();
    const [one, other] = [new EndpointHours(db, silentLog), new EndpointHours(db, silentLog)];
    one.count(endpointId, outcome({ startedAt: at(9, 59), durationMs: 90_000 }));
    one.count(endpointId, outcome({ startedAt: at(10, 1), durationMs: 1 }));
    other.count(endpointId, { ...refusedBy(503), startedAt: at(10, 2), durationMs: 2_000 });
    other.count(endpointId, outcome({ startedAt: at(10, 3), error: 'timeout', responseStatus: null }));
    await Promise.all([one.write(), other.write()]);
    const [nine, ten] = await read(endpointId);
    expect(nine).toMatchObject({ hour: at(9, 0), succeeded: 1, failed: 0, lastFailureAt: null });
    expect(nine?.lastSuccessAt).toEqual(new Date(at(9, 59).getTime() + 90_000));
    expect(ten).toMatchObject({
      hour: at(10, 0),
      succeeded: 1,
      failed: 2,
      lastError: 'timeout',
      lastResponseStatus: null,
    });
    // An attempt without a response has no response time.
    expect(ten?.answerTimes.reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it('counts failures by cause, and the totals of a client', async () => {
    const [clientId, one, other] = [newId(), newId(), newId()];
    const hours = new EndpointHours(db, silentLog);
    for (let i = 0; i < 2; i++) {
      hours.count(one, { ...refusedBy(401), startedAt: at(11, 1) }, clientId);
      hours.count(other, outcome({ startedAt: at(11, 2), error: 'timeout', responseStatus: null }), clientId);
      hours.count(other, outcome({ startedAt: at(11, 3) }), clientId);
      await hours.write();
    }
    expect(await read(other)).toMatchObject([{ succeeded: 2, failed: 2, causes: { timeout: 2 } }]);
    expect(await read(clientId)).toMatchObject([{ succeeded: 2, failed: 4, causes: { '401': 2, timeout: 2 } }]);
  });

  it('keeps the later failure, no matter which process writes last', async () => {
    const endpointId = newId();
    const [one, other] = [new EndpointHours(db, silentLog), new EndpointHours(db, silentLog)];
    one.count(endpointId, { ...refusedBy(503), startedAt: at(10, 30) });
    other.count(endpointId, { ...refusedBy(401), startedAt: at(10, 20) });
    await one.write();
    await other.write();
    expect(await read(endpointId)).toMatchObject([{ failed: 2, lastError: 'status', lastResponseStatus: 503 }]);
  });

  it('keeps its counts while Postgres is unavailable, and writes them once', async () => {
    const endpointId = newId();
    let away = true;
    const query: typeof db.query = (...given) => (away ? Promise.reject(new Error('away')) : db.query(...given));
    const hours = new EndpointHours({ ...db, query }, silentLog);
    hours.count(endpointId, outcome({ startedAt: at(10, 0) }));
    await expect(hours.write()).rejects.toThrow('away');
    hours.count(endpointId, outcome({ startedAt: at(10, 1) }));
    away = false;
    await hours.write();
    await hours.write();
    expect(await read(endpointId)).toMatchObject([{ hour: at(10, 0), succeeded: 2 }]);
  });

  it('writes the last counts when it stops', async () => {
    const endpointId = newId();
    const hours = new EndpointHours(db, silentLog);
    hours.start();
    hours.count(endpointId, outcome({ startedAt: new Date(5 * HOUR) }));
    await hours.stop();
    expect(await read(endpointId)).toHaveLength(1);
  });
});

const counted = (times: readonly number[]) => sumOf(times.map((ms) => [...Array<number>(bucketOf(ms)).fill(0), 1]));

describe('response times', () => {
  it('estimates every quantile of any times to an eighth', () => {
    const someTimes = fc.array(fc.integer({ min: 1, max: 16_000 }), { minLength: 1 });
    fc.assert(
      fc.property(someTimes, fc.constantFrom(0.5, 0.95, 1), (times, quantile) => {
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(times.length * quantile) - 1] ?? 0;
        const estimate = quantileOf(counted(times), quantile) ?? 0;
        expect(Math.abs(estimate - exact) / exact).toBeLessThanOrEqual(0.18);
      }),
    );
  });
});
