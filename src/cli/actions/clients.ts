import type { ClientSecretInfo } from '../../auth/clients.js';
import * as auth from '../../auth/clients.js';
import { makeOperatorLink } from '../../auth/console-sessions.js';
import type { Client } from '../../platform/database/generated/client.js';
import { eraseClient } from '../../transfers/erase-client.js';
import { canAsk, confirm } from '../terminal.js';
import type { Fields } from '../view.js';
import { baseUrlIn, onDatabase } from '../with-database.js';

interface NewClientOptions {
  name: string;
  scope?: string[];
  allow?: string[];
}

interface RotationOptions {
  /** ms */
  expireOld?: number;
  revoke?: string;
}

const SHOWN_ONCE = 'The secret is shown only once; send it to the client through a secure channel.';

/** `clients create` */
export const create = onDatabase(async ({ database, actor }, options: NewClientOptions) => {
  const { name, scope: scopes, allow: networks } = options;
  const { client, clientSecret, secretId } = await auth.createClient(database, actor, { name, scopes, networks });
  const client_secret = clientSecret.reveal();
  return {
    json: { ...presentClient(client), client_secret, secret_id: secretId },
    text: [{ fields: { client_id: client.id, client_secret } }, SHOWN_ONCE],
  };
});

/** `clients list` */
export const list = onDatabase(async ({ database }) => {
  const found = await auth.listClients(database);
  return {
    json: found.map(presentClient),
    text: { rows: found.map(forPeople), wraps: ['name', 'scopes', 'networks'], none: 'no clients yet' },
  };
});

/** `clients show` */
export const show = onDatabase(async ({ database }, id: string) => {
  const client = await auth.showClient(database, id);
  const secrets = client.secrets.map(presentSecret);
  return {
    json: { ...presentClient(client), secrets },
    text: [clientDetails(client), { rows: secrets, none: 'no secrets' }],
  };
});

/** `clients rotate-secret` */
export const rotateSecret = onDatabase(async ({ database, actor }, id: string, options: RotationOptions) => {
  const wanted = { expireOldIn: options.expireOld, revoke: options.revoke };
  const { secretId, clientSecret, revoked } = await auth.rotateSecret(database, actor, id, wanted);
  const client_secret = clientSecret.reveal();
  return {
    json: { client_id: id, client_secret, secret_id: secretId, revoked },
    text: [{ fields: { client_secret } }, SHOWN_ONCE, ...revoked.map((secret) => `secret ${secret} revoked`)],
  };
});

/** `clients revoke` */
export const revoke = onDatabase(async ({ database, actor }, id: string) =>
  resultOf(await auth.revokeClient(database, actor, id)),
);

/** `clients revoke-secret` */
export const revokeSecret = onDatabase(async ({ database, actor }, id: string, secretId: string) => {
  await auth.revokeSecret(database, actor, id, secretId);
  return { json: { client_id: id, secret_id: secretId, revoked: true }, text: `secret ${secretId} revoked` };
});

/** `clients allow` */
export const allow = onDatabase(async ({ database, actor }, id: string, networks: string[] | undefined) =>
  resultOf(await auth.allowNetworks(database, actor, id, networks ?? [])),
);

/** `default`: the value of the deployment. */
type Own = number | 'default';
const limitFrom = (own: Own | undefined) => (own === 'default' ? null : own);

/** `clients set-limits` */
export const setLimits = onDatabase(
  async ({ database, actor }, id: string, options: { rate?: Own; endpoints?: Own }) => {
    const limits = { rateLimit: limitFrom(options.rate), maxEndpoints: limitFrom(options.endpoints) };
    return resultOf(await auth.setLimits(database, actor, id, limits));
  },
);

/** `clients erase` */
export const erase = onDatabase(async ({ database, actor }, id: string, { yes }: { yes?: true }) => {
  const { name } = await auth.showClient(database, id);
  if (!yes && !canAsk()) throw new Error('this cannot be undone; give --yes if there is no terminal to ask on');
  if (!yes) await confirm(`Erase the names and accounts of the client ${name} permanently?`);
  const { transfers, endpoints } = await eraseClient(database, { actor }, id);
  return {
    json: { client_id: id, transfers, endpoints },
    text: `erased: ${transfers} transfers, ${endpoints} endpoints`,
  };
});

/** `clients console-link` */
export const consoleLink = onDatabase(async (context, clientId: string, { viewer }: { viewer?: true }) => {
  const { database, environment, actor } = context;
  const role = viewer ? 'viewer' : 'editor';
  const { url, expiresAt } = await makeOperatorLink(database, actor, baseUrlIn(environment), clientId, role);
  const link = { url, expires_at: expiresAt };
  return {
    json: link,
    text: [{ fields: link }, 'The link works once; send it to one person of the client through a secure channel.'],
  };
});

function presentClient({ id, name, scopes, networks, createdAt, revokedAt, erasedAt, ...limits }: Client) {
  return {
    client_id: id,
    name,
    scopes,
    networks,
    rate_limit: limits.rateLimit,
    max_endpoints: limits.maxEndpoints,
    created_at: createdAt,
    revoked_at: revokedAt,
    erased_at: erasedAt,
  };
}

function presentSecret({ id, createdAt, expiresAt, revokedAt }: ClientSecretInfo) {
  return { secret_id: id, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt };
}

const clientDetails = (client: Client): Fields => ({ fields: forPeople(client) });

const resultOf = (client: Client) => ({ json: presentClient(client), text: clientDetails(client) });

function forPeople(client: Client) {
  return {
    ...presentClient(client),
    scopes: client.scopes.join(' '),
    networks: client.networks.join(', ') || 'anywhere',
  };
}
