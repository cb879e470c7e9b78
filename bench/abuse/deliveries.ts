import { newId } from '../../src/platform/ids.js';
import { startHelper } from '../helper.js';
import type { Load, LoadResult } from '../load.js';
import type { Arrivals, ReceiverQuestion } from '../receiver.js';
import { insertEndpoints, makeTransfers } from '../tenants.js';
import { untilNone } from '../waiting.js';
import { FLOODS } from './floods.js';
import { PATIENCE } from './requests.js';
import { type AbuseSite, type EndAttack, makeTenant, type Tenant } from './site.js';
import type { VictimResult } from './victim.js';

/**
 * Status changes per second, each delivered to every kind of flood. The number is low because retries cost CPU in Temporal.
 */
const FLOOD_RATE = 5;

async function change({ service }: AbuseSite, transfers: string[], rate: number): Promise<LoadResult> {
  const generator = await startHelper('./load.js');
  const load: Load = { baseUrls: service.apis, token: await service.token(), transfers, connections: 16, rate };
  const result = await generator.ask<LoadResult>(load);
  generator.end();
  return result;
}

const transfersOf = ({ stack }: AbuseSite, { id, endpointId }: Tenant, count: number) =>
  makeTransfers(stack, { clients: [{ id, endpoints: [endpointId] }], endpointsEach: 1 }, count);

/** A client with a healthy receiver: ms from the planned time of a status change to its arrival. */
export async function victimOfDeliveries(site: AbuseSite, rate: number): Promise<() => Promise<VictimResult>> {
  const receiver = await startHelper('./receiver.js');
  const ask = <Answer = Arrivals>(question: ReceiverQuestion) => receiver.ask<Answer>(question);
  const { port } = await ask<{ port: number }>({ ask: 'port' });
  const victim = await makeTenant(site, `http://127.0.0.1:${port}/in`);
  return async () => {
    await ask({ ask: 'clear', responses: 'accept' });
    const transfers = await transfersOf(site, victim, rate * site.seconds);
    const { startedAt } = await change(site, transfers, rate);
    const missing = async () => transfers.length - (await ask({ ask: 'count' })).count;
    const failed = await untilNone(missing, { every: 100, patience: PATIENCE });
    const arrivedAt = new Map((await ask({ ask: 'arrivals' })).arrivals);
    const delays = transfers.map((id, index) => {
      const at = arrivedAt.get(id);
      return at === undefined ? PATIENCE : at - (startedAt + (index * 1_000) / rate);
    });
    return { delays, failed };
  };
}

/** Events of another client, whose receivers flood. */
export async function beginFlood(site: AbuseSite): Promise<EndAttack> {
  const flooding = await startHelper('./abuse/flooding-receiver.js');
  const { port } = await flooding.ask<{ port: number }>({});
  const attacker = await makeTenant(site, `http://127.0.0.1:${port}/${Object.keys(FLOODS)[0]}`);
  const others = Object.keys(FLOODS).slice(1);
  await insertEndpoints(
    site.stack,
    others.map((path) => ({ id: newId(), clientId: attacker.id, url: `http://127.0.0.1:${port}/${path}` })),
  );
  const changes = change(site, await transfersOf(site, attacker, FLOOD_RATE * site.seconds), FLOOD_RATE);
  return async () => {
    await changes;
    const { mebibytes } = await flooding.ask<{ mebibytes: number }>({});
    flooding.end();
    return { answers: { 'MiB sent': Math.round(mebibytes) }, largestBytes: 0 };
  };
}
