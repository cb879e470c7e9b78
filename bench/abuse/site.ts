import { newId } from '../../src/platform/ids.js';
import { during } from '../ending.js';
import { startHelper } from '../helper.js';
import { getToken, type Service, startService } from '../service.js';
import { makeClient, type Stack } from '../stack.js';
import { insertEndpoints } from '../tenants.js';
import type { AttackerQuestion, AttackLoad, AttackResult } from './attacker.js';

/** The environment of a scenario: its own service, on servers that all scenarios share. */
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

/** ms after which the service is killed: work in progress may keep it from ending. */
const END_MS = 20_000;

export function withService<Result>(
  stack: Stack,
  folder: string | undefined,
  work: (service: Service) => Promise<Result>,
): Promise<Result> {
  // The report does not measure the logging that an attack causes.
  const env = { LOG_LEVEL: 'silent' };
  const starting = startService(stack, {
    workflows: 'retries-only',
    roles: undefined,
    profile: undefined,
    env,
    folder,
  });
  const bounded = starting.then((service) => ({
    ...service,
    async stop() {
      const timer = setTimeout(() => process.kill(service.parts.service?.[0] ?? 0, 'SIGKILL'), END_MS);
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

/** Ends the attack and returns its result. */
export type EndAttack = () => Promise<AttackResult>;

/** An attack by requests, from its own process. */
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
