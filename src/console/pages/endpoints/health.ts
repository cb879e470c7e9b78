import { LRUCache } from 'lru-cache';
import type { Handle } from '../../../database/database.js';
import { type EndpointHealth, readEndpointHealth } from '../../../webhooks/endpoint-health.js';
import type { Visit } from '../../page.js';

export type HealthByEndpoint = ReadonlyMap<string, EndpointHealth>;

/**
 * One read at a time for a client in this process, and its result for a second: pages that are open all day, and update
 * themselves, cost one read a second.
 */
const readings = new LRUCache<string, HealthByEndpoint, Handle>({
  max: 1_000,
  ttl: 1_000,
  // A page that already waits for the read still gets its result.
  ignoreFetchAbort: true,
  fetchMethod: (clientId, _stale, { context: db }) => readEndpointHealth(db, clientId),
});

/** The health of the client's endpoints, at most a second old. */
export async function healthOf({
  db,
  session: { clientId },
}: Pick<Visit, 'db' | 'session'>): Promise<HealthByEndpoint> {
  return (await readings.fetch(clientId, { context: db })) ?? new Map();
}

/** Makes the next page read the health again, because the person has just changed an endpoint. */
export function forgetHealth({ session: { clientId } }: Pick<Visit, 'session'>): void {
  readings.delete(clientId);
}
