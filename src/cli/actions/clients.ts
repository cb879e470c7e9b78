import type { ClientSecretInfo } from '../../auth/clients.js';
import * as auth from '../../auth/clients.js';
import { makeOperatorLink } from '../../auth/console-sessions.js';
import { personHere } from '../../platform/audit.js';
import type { Client } from '../../platform/database/generated/client.js';
import { eraseClient } from '../../transfers/erase-client.js';
import type { CommandResult } from '../command.js';
import { canAsk, confirm } from '../terminal.js';
import type { Fields } from '../view.js';
import { baseUrlIn, withDatabase } from '../with-database.js';

const SHOWN_ONCE = 'The secret is shown only once; send it to the client through a secure channel.';

/** `clients create` */
export async function create(options: { name: string; scope?: string[]; allow?: string[] }): Promise<CommandResult> {
  const { client, clientSecret, secretId } = await withDatabase((database) =>
    auth.createClient(database, personHere(), {
      name: options.name,
      scopes: options.scope,
      networks: options.allow,
    }),
  );
  const client_secret = clientSecret.reveal();
  return {
    json: { ...presentClient(client), client_secret, secret_id: secretId },
    text: [{ fields: { client_id: client.id, client_secret } }, SHOWN_ONCE],
  };
}

/** `clients list` */
export async function list(): Promise<CommandResult> {
  const found = await withDatabase(auth.listClients);
  return {
    json: found.map(presentClient),
    text: { rows: found.map(forPeople), wraps: ['name', 'scopes', 'networks'], none: 'no clients yet' },
  };
}

/** `clients show` */
export async function show(id: string): Promise<CommandResult> {
  const client = await withDatabase((database) => auth.showClient(database, id));
  const secrets = client.secrets.map(presentSecret);
  return {
    json: { ...presentClient(client), secrets },
    text: [clientDetails(client), { rows: secrets, none: 'no secrets' }],
  };
}

/** `clients rotate-secret` */
export async function rotateSecret(
  id: string,
  { expireOld, revoke }: { expireOld?: number; revoke?: string },
): Promise<CommandResult> {
  const { secretId, clientSecret, revoked } = await withDatabase((database) =>
    auth.rotateSecret(database, personHere(), id, { expireOldIn: expireOld, revoke }),
  );
  const client_secret = clientSecret.reveal();
  return {
    json: { client_id: id, client_secret, secret_id: secretId, revoked },
    text: [{ fields: { client_secret } }, SHOWN_ONCE, ...revoked.map((secret) => `secret ${secret} revoked`)],
  };
}

/** `clients revoke` */
export async function revoke(id: string): Promise<CommandResult> {
  const client = await withDatabase((database) => auth.revokeClient(database, personHere(), id));
  return { json: presentClient(client), text: clientDetails(client) };
}

/** `clients revoke-secret` */
export async function revokeSecret(id: string, secretId: string): Promise<CommandResult> {
  await withDatabase((database) => auth.revokeSecret(database, personHere(), id, secretId));
  return { json: { client_id: id, secret_id: secretId, revoked: true }, text: `secret ${secretId} revoked` };
}

/** `clients allow` */
export async function allow(id: string, networks: string[] | undefined): Promise<CommandResult> {
  const client = await withDatabase((database) => auth.allowNetworks(database, personHere(), id, networks ?? []));
  return { json: presentClient(client), text: clientDetails(client) };
}

/** `clients erase` */
export async function erase(id: string, { yes }: { yes?: true }): Promise<CommandResult> {
  const { transfers, endpoints } = await withDatabase(async (database) => {
    const { name } = await auth.showClient(database, id);
    if (!yes && !canAsk()) throw new Error('this cannot be undone; give --yes if there is no terminal to ask on');
    if (!yes) await confirm(`Erase the names and accounts of the client ${name} permanently?`);
    return eraseClient(database, { actor: personHere() }, id);
  });
  return {
    json: { client_id: id, transfers, endpoints },
    text: `erased: ${transfers} transfers, ${endpoints} endpoints`,
  };
}

/** `clients console-link` */
export async function consoleLink(clientId: string, { viewer }: { viewer?: true }): Promise<CommandResult> {
  const { url, expiresAt } = await withDatabase((database, environment) =>
    makeOperatorLink(database, personHere(), baseUrlIn(environment), clientId, viewer ? 'viewer' : 'editor'),
  );
  const link = { url, expires_at: expiresAt };
  return {
    json: link,
    text: [{ fields: link }, 'The link works once; send it to one person of the client through a secure channel.'],
  };
}

function presentClient({ id, name, scopes, networks, createdAt, revokedAt, erasedAt }: Client) {
  return { client_id: id, name, scopes, networks, created_at: createdAt, revoked_at: revokedAt, erased_at: erasedAt };
}

function presentSecret({ id, createdAt, expiresAt, revokedAt }: ClientSecretInfo) {
  return { secret_id: id, created_at: createdAt, expires_at: expiresAt, revoked_at: revokedAt };
}

function clientDetails(client: Client): Fields {
  return { fields: forPeople(client) };
}

function forPeople(client: Client) {
  return {
    ...presentClient(client),
    scopes: client.scopes.join(' '),
    networks: client.networks.join(', ') || 'anywhere',
  };
}
