import { newId } from '../../src/platform/ids.js';
import { makeBacklog } from '../../test/support/backlog.js';
import { freeze } from '../../test/support/freeze.js';
import { startHelper } from '../helper.js';
import { fillPast, settle } from '../past.js';
import type { Stack } from '../stack.js';
import { insertEndpoints } from '../tenants.js';
import type { AttackLoad, AttackResult } from './attacker.js';
import type { Trial } from './compare.js';
import { everyPage } from './console.js';
import { beginFlood, victimOfDeliveries } from './deliveries.js';
import type { HolderQuestion } from './holder.js';
import type { Asked } from './requests.js';
import { type AbuseSite, attack, makeTenant, type Tenant } from './site.js';
import type { VictimLoad, VictimResult } from './victim.js';

export type Scenario = (site: AbuseSite) => Promise<Trial>;

/** Requests per second, below the limit of 100 for a client. */
const ATTACK_RATE = 60;
const VICTIM_RATE = 20;
const NOBODY = 'http://127.0.0.1:1/';
const TRANSFER = { amount: { value: 1, currency: 'EUR' }, destination: { name: 'A', account: 'B' } };
/** What a victim sends: a read, or a transfer whose key needs a transaction. */
const READ: Asked = { method: 'GET', path: '/transfers?limit=10' };
const CREATE: Asked = { method: 'POST', path: '/transfers', body: JSON.stringify(TRANSFER), keyed: true };
const NO_ANSWER: AttackResult = { answers: {}, largestBytes: 0 };

/** A client reads its deliveries, whose attempts have bodies of the largest permitted size. */
async function attempts(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const deliveries = await fillDeliveries(site, attacker, 300);
  await fillAttempts(site.stack, deliveries.slice(0, 1), 2_000);
  await fillAttempts(site.stack, deliveries.slice(1, 101), 20);
  const asked: Asked[] = [
    { method: 'GET', path: `/deliveries/${deliveries[0]}` },
    { method: 'GET', path: `/deliveries/${deliveries[0]}/attempts` },
    { method: 'GET', path: `/webhook-endpoints/${attacker.endpointId}/deliveries?limit=100` },
    ...deliveries.slice(0, 5).map((id): Asked => ({ method: 'POST', path: `/deliveries/${id}/retry`, keyed: true })),
  ];
  return trial(site, 'reads of huge attempts', { ...load(site, attacker, asked), rate: 10, atOnce: 4 });
}

/** Rejected requests that are expensive. */
async function requests(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [i.toString(36), 0]));
  const asked: Asked[] = [
    { method: 'GET', path: `/transfers?${Array(1_850).fill('limit=').join('&')}` },
    { method: 'POST', path: '/transfers', body: JSON.stringify({ ...TRANSFER, metadata: fields(7_000) }) },
    { method: 'POST', path: '/transfers', body: JSON.stringify(fields(7_300)) },
  ];
  return trial(site, 'rejected requests', { ...load(site, attacker, asked), rate: ATTACK_RATE, atOnce: 60 });
}

/** Receivers whose responses never end. */
async function receivers(site: AbuseSite): Promise<Trial> {
  return {
    name: 'receivers that flood',
    victim: await victimOfDeliveries(site, VICTIM_RATE),
    begin: () => beginFlood(site),
  };
}

/** Keyed retries while Temporal accepts calls and never responds. */
async function retries(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const deliveries = await fillDeliveries(site, attacker, 600);
  const asked = deliveries.map((id): Asked => ({ method: 'POST', path: `/deliveries/${id}/retry`, keyed: true }));
  const name = 'keyed retries while Temporal hangs';
  const { victim, begin } = await trial(site, name, { ...load(site, attacker, asked), rate: ATTACK_RATE, atOnce: 60 });
  return {
    name,
    victim,
    async begin() {
      const thaw = freeze(site.stack.servers.parts.temporal?.[0] ?? 0);
      const end = await begin();
      return async () => {
        thaw();
        return end();
      };
    },
  };
}

/** Clients that hold their connections. */
async function connections(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const { baseUrl } = site.service;
  return {
    name: 'connections that are held',
    // An open connection stays usable, so the victim opens a new connection for each request.
    victim: await victimOfRequests(site, false),
    async begin() {
      const holder = await startHelper('./abuse/holder.js');
      const ask = (question: HolderQuestion) => holder.ask<{ held: number }>(question);
      await ask({ hold: { baseUrl, token: attacker.token, unread: 50, others: 400 } });
      return async () => {
        const { held } = await ask({ release: true });
        holder.end();
        return { ...NO_ANSWER, answers: { held } };
      };
    },
  };
}

/** A client disables, enables and deletes endpoints with a large backlog. The cancellation outlasts the trial. */
async function backlogs(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const ids = Array.from({ length: 20 }, () => newId());
  await insertEndpoints(
    site.stack,
    ids.map((id) => ({ id, clientId: attacker.id, url: NOBODY })),
  );
  for (const id of ids) await makeBacklog(site.stack.database, id, 20_000);
  const set = (id: string, enabled: boolean): Asked => ({
    method: 'PUT',
    path: `/webhook-endpoints/${id}`,
    body: JSON.stringify({ url: NOBODY, enabled }),
  });
  const asked = [
    ...ids.flatMap((id) => [set(id, false), set(id, false), set(id, true)]),
    ...ids.slice(10).map((id): Asked => ({ method: 'DELETE', path: `/webhook-endpoints/${id}` })),
  ];
  return {
    name: 'disabling endpoints with a backlog',
    victim: await victimOfDeliveries(site, VICTIM_RATE),
    begin: () => attack({ ...load(site, attacker, asked), rate: ATTACK_RATE, atOnce: 60 }),
  };
}

/** A client recovers a large window without failures: each request counts all of it and starts nothing. */
async function recoveries(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  await fillDeliveries(site, attacker, 200_000);
  await settle(site.stack);
  const since = new Date(Date.now() - 30 * 86_400_000).toISOString();
  const path = `/webhook-endpoints/${attacker.endpointId}/recover`;
  const asked = [true, false].map(
    (include_missing): Asked => ({
      method: 'POST',
      path,
      body: JSON.stringify({ since, include_missing }),
      keyed: true,
    }),
  );
  return {
    name: 'recoveries of a large window',
    victim: await victimOfRequests(site, true, CREATE),
    begin: () => attack({ ...load(site, attacker, asked), rate: ATTACK_RATE, atOnce: 60 }),
  };
}

/** A client checks one endpoint after the other, and deletes each. */
async function checks(site: AbuseSite): Promise<Trial> {
  const attacker = await makeTenant(site, NOBODY);
  const ids = Array.from({ length: 1_000 }, () => newId());
  await insertEndpoints(
    site.stack,
    ids.map((id) => ({ id, clientId: attacker.id, url: NOBODY })),
  );
  const pathOf = (id: string) => `/webhook-endpoints/${id}`;
  // Deletes an endpoint a little later, so that the check runs first; the first 20 delete the last.
  const asked = ids.flatMap((id, i): Asked[] => [
    { method: 'POST', path: `${pathOf(id)}/checks`, keyed: true },
    { method: 'DELETE', path: pathOf(ids.at(i - 20) ?? id) },
  ]);
  return {
    name: 'checks in a loop',
    victim: await victimOfDeliveries(site, VICTIM_RATE),
    begin: () => attack({ ...load(site, attacker, asked), rate: ATTACK_RATE, atOnce: 12 }),
  };
}

/** Every page of the console in turn. */
async function pages(site: AbuseSite): Promise<Trial> {
  return trial(site, 'every page of the console', {
    ...(await everyPage(site, NOBODY)),
    rate: ATTACK_RATE,
    atOnce: 60,
  });
}

const ALL = { attempts, requests, receivers, retries, connections, backlogs, recoveries, checks, pages };
export const SCENARIOS = ALL satisfies Record<string, Scenario>;

async function trial(site: AbuseSite, name: string, attackLoad: AttackLoad): Promise<Trial> {
  return { name, victim: await victimOfRequests(site, true), begin: () => attack(attackLoad) };
}

const load = ({ service }: AbuseSite, { token }: Tenant, asked: Asked[]) => ({
  target: { baseUrl: service.baseUrl, token, keepAlive: true },
  asked,
});

async function victimOfRequests(
  site: AbuseSite,
  keepAlive: boolean,
  asked: Asked = READ,
): Promise<() => Promise<VictimResult>> {
  const { token } = await makeTenant(site, NOBODY);
  const wanted: VictimLoad = {
    target: { baseUrl: site.service.baseUrl, token, keepAlive },
    asked,
    rate: VICTIM_RATE,
    seconds: site.seconds,
  };
  return async () => {
    const helper = await startHelper('./abuse/victim.js');
    const result = await helper.ask<VictimResult>(wanted);
    helper.end();
    return result;
  };
}

/** Deliveries that ended, with one attempt each. */
async function fillDeliveries({ stack }: AbuseSite, { id, endpointId }: Tenant, count: number): Promise<string[]> {
  const tenants = { clients: [{ id, endpoints: [endpointId] }], endpointsEach: 1 };
  await fillPast(stack, tenants, count, () => undefined);
  const { rows } = await stack.database.query<{ id: string }>(
    'select id from deliveries where client_id = $1 order by id desc',
    [id],
  );
  return rows.map((row) => row.id);
}

/** Adds attempts to each delivery, with bodies that JSON makes six times as large. */
async function fillAttempts({ database }: Stack, deliveries: readonly string[], count: number): Promise<void> {
  await database.query(
    `insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status, response_body)
     select id, number, 'manual', 'http://127.0.0.1/in', '2026-11-21T10:00:00.123Z', now(), 3, 204, repeat(e'\\x01', 4096)
       from unnest($1::uuid[]) id, generate_series(2, $2::int) number`,
    [deliveries, count],
  );
  await database.query('update deliveries set attempt_count = $2 where id = any($1::uuid[])', [deliveries, count]);
}
