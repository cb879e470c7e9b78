import { newId } from '../../src/ids.js';
import { during } from '../ending.js';
import { startHelper } from '../helper.js';
import { getToken, type Service, startService } from '../service.js';
import { makeClient, type Stack } from '../stack.js';
import { insertEndpoints } from '../tenants.js';
import type { AttackerQuestion, AttackLoad, AttackResult } from './attacker.js';

/** What a scenario works with: a service of its own, on servers that all scenarios share. */
export interface AbuseSite {
  stack: Stack;
  service: Service;
  seconds: number;
}

/** A client of the API with one endpoint. */
export interface Tenant {
  id: string;
  endpointId: string;
  token: string;
}

/** After that the service is killed: what it still has under way may keep it from ending. */
const END_MS = 20_000;

export function withService<Result>(
  stack: Stack,
  folder: string | undefined,
  work: (service: Service) => Promise<Result>,
): Promise<Result> {
  // What an attack makes it log is not what the report is about.
  const env = { LOG_LEVEL: 'silent' };
  const starting = startService(stack, { workflows: 'retries-only', roles: false, profile: undefined, env, folder });
  const bounded = starting.then((service) => ({
    ...service,
    async stop() {
      const timer = setTimeout(() => process.kill(service.parts.service ?? 0, 'SIGKILL'), END_MS);
      await service.stop();
      clearTimeout(timer);
    },
  }));
  return during(bounded, work);
}

export async function makeTenant({ stack, service }: AbuseSite, url: string): Promise<Tenant> {
  const credentials = await makeClient(stack.servers.databaseUrl, { name: 'bench' });
  const [id, endpointId] = [credentials.client_id, newId()];
  await insertEndpoints(stack, [{ id: endpointId, clientId: id, url }]);
  return { id, endpointId, token: await getToken(service.baseUrl, credentials) };
}

/** Ends the attack, and says what came of it. */
export type EndAttack = () => Promise<AttackResult>;

/** An attack by requests, from a process of its own. */
export async function attack(load: AttackLoad): Promise<EndAttack> {
  const helper = await startHelper('./abuse/attacker.js');
  const ask = (question: AttackerQuestion) => helper.ask<AttackResult>(question);
  await ask({ begin: load });
  return async () => {
    const result = await ask({ end: true });
    helper.end();
    return result;
  };
}
