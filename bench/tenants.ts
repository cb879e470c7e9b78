import pLimit from 'p-limit';
import { newId } from '../src/platform/ids.js';
import { Secret } from '../src/platform/secret.js';
import { getToken } from './service.js';
import type { Stack } from './stack.js';

/** Makes clients with endpoints. Writes directly to the tables, because the bench does not measure this. */
export interface Tenants {
  clients: readonly { id: string; endpoints: readonly string[] }[];
  endpointsEach: number;
}

export const SECRET = new Secret('a secret for the bench');

const CLIENT_SECRET = 'the secret of each client of the bench';

/** Gives the clients a secret. @returns an access token of each, in their order, good for an hour */
export async function makeTokens(
  database: Stack['database'],
  { clients }: Tenants,
  baseUrl: string,
): Promise<string[]> {
  const ids = clients.map(({ id }) => id);
  await database.query(
    `update clients set networks = '{}', scopes = '{transfers:read,transfers:write,webhooks:read,webhooks:write}' where id = any($1::uuid[])`,
    [ids],
  );
  await database.query(
    `insert into client_secrets (id, client_id, hash) select gen_random_uuid(), id, sha256($2::bytea) from unnest($1::uuid[]) as id`,
    [ids, Buffer.from(CLIENT_SECRET)],
  );
  const limit = pLimit(8);
  return Promise.all(ids.map((id) => limit(() => getToken(baseUrl, { client_id: id, client_secret: CLIENT_SECRET }))));
}

/** @param receiver `http://host:port`; each endpoint has its own path there */
export async function makeTenants(
  { database, masterKeys }: Pick<Stack, 'database' | 'masterKeys'>,
  receiver: string,
  { clients: count, endpointsEach }: { clients: number; endpointsEach: number },
): Promise<Tenants> {
  const clients = Array.from({ length: count }, () => ({
    id: newId(),
    endpoints: Array.from({ length: endpointsEach }, () => newId()),
  }));
  await database.query(
    `insert into clients (id, name, scopes) select id, 'bench', '{}' from unnest($1::uuid[]) as id`,
    [clients.map(({ id }) => id)],
  );
  const endpoints = clients.flatMap((client) => client.endpoints.map((id) => ({ id, clientId: client.id })));
  await insertEndpoints(
    { database, masterKeys },
    endpoints.map((endpoint) => ({ ...endpoint, url: `${receiver}/${endpoint.id}` })),
  );
  return { clients, endpointsEach };
}

export async function insertEndpoints(
  { database, masterKeys }: Pick<Stack, 'database' | 'masterKeys'>,
  endpoints: readonly { id: string; clientId: string; url: string }[],
): Promise<void> {
  await database.query(
    `insert into webhook_endpoints (id, client_id, url, secret_envelope)
     select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[])`,
    [
      endpoints.map(({ id }) => id),
      endpoints.map(({ clientId }) => clientId),
      endpoints.map(({ url }) => url),
      endpoints.map(({ id }) => masterKeys.seal(SECRET, id)),
    ],
  );
}

/** Transfers in CREATED, spread over the clients in turn. */
export async function makeTransfers(
  { database }: Pick<Stack, 'database'>,
  { clients }: Tenants,
  count: number,
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId());
  await database.query(
    `insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account)
     select id, client_id, 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051'
       from unnest($1::uuid[], $2::uuid[]) as t(id, client_id)`,
    [ids, ids.map((_, index) => clients[index % clients.length]?.id)],
  );
  await database.query(
    `insert into transfer_status_history (transfer_id, position, status, at)
     select id, 0, 'CREATED', now() from unnest($1::uuid[]) as id`,
    [ids],
  );
  return ids;
}
