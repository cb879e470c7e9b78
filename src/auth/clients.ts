import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { atomically, type Handle } from '../database/database.js';
import { isId } from '../id-form.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { CLIENT_SCOPES, SCOPES } from './caller.js';
import { makeClientSecret, type NewClientSecret } from './client-secrets.js';
import { errorsInName, errorsInNetworks, errorsInScopes, refuse } from './client-validation.js';

export { revokeSecret, rotateSecret } from './client-secrets.js';

/** A client as the operator sees it, without secrets and their hashes. `id` is the `client_id`. */
export interface Client {
  id: string;
  name: string;
  scopes: string[];
  /** CIDRs that the client may call from; empty: any address. */
  networks: string[];
  createdAt: Date;
  revokedAt: Date | null;
  erasedAt: Date | null;
}

/** A secret is active while it is neither revoked nor expired. */
export interface ClientSecretInfo {
  id: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface NewClient {
  /** A name for people, 1 to 255 characters. */
  name: string;
  /** Default: the four client scopes. */
  scopes?: readonly string[] | undefined;
  networks?: readonly string[] | undefined;
}

const columns = {
  id: true,
  name: true,
  scopes: true,
  networks: true,
  createdAt: true,
  revokedAt: true,
  erasedAt: true,
} as const;

/**
 * Makes a client with its first secret. The secret is readable only in this result.
 * @throws Refusal invalid_request, with every validation error in name, scopes and networks
 */
export async function createClient(
  db: Handle,
  actor: Actor,
  wanted: NewClient,
): Promise<{ client: Client } & NewClientSecret> {
  const scopes = wanted.scopes?.length ? wanted.scopes : CLIENT_SCOPES;
  const networks = wanted.networks ?? [];
  refuse([...errorsInName(wanted.name), ...errorsInScopes(scopes), ...errorsInNetworks(networks)]);
  const { secretId, clientSecret, hash } = makeClientSecret();
  return atomically(db, async (tx) => {
    const client = await tx.prisma.client.create({
      data: {
        id: newId(),
        name: wanted.name,
        scopes: SCOPES.filter((scope) => scopes.includes(scope)),
        networks: [...new Set(networks)],
        secrets: { create: { id: secretId, hash } },
      },
      select: columns,
    });
    const { id: target, name, scopes: granted, networks: from } = client;
    const details = { name, scopes: granted, networks: from, secret_id: secretId };
    await recordAudit(tx, { actor, action: 'clients.create', target, details });
    return { client, clientSecret, secretId };
  });
}

/** Every client, including revoked clients, oldest first. */
export function listClients(db: Handle): Promise<Client[]> {
  return db.prisma.client.findMany({ select: columns, orderBy: { id: 'asc' } });
}

/** The client with its secrets, oldest secret first. @throws Refusal not_found */
export async function showClient(db: Handle, clientId: string): Promise<Client & { secrets: ClientSecretInfo[] }> {
  if (!isId(clientId)) throw noClient();
  const client = await db.prisma.client.findUnique({
    where: { id: clientId },
    select: {
      ...columns,
      secrets: {
        select: { id: true, createdAt: true, expiresAt: true, revokedAt: true },
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      },
    },
  });
  if (!client) throw noClient();
  return client;
}

/**
 * Revokes a client permanently, and within 5 s every token of it. A second call changes nothing.
 * @throws Refusal not_found
 */
export function revokeClient(db: Handle, actor: Actor, clientId: string): Promise<Client> {
  return atomically(db, async (tx) => {
    const before = await lockClient(tx, clientId);
    if (before.revokedAt) return before;
    await recordAudit(tx, { actor, action: 'clients.revoke', target: clientId });
    return updateClient(tx, clientId, { revokedAt: new Date() });
  });
}

/**
 * Replaces the list of networks that the client may call from (empty: any address). The list applies to live tokens
 * within 5 s.
 * @throws Refusal not_found | invalid_request
 */
export async function allowNetworks(
  db: Handle,
  actor: Actor,
  clientId: string,
  networks: readonly string[],
): Promise<Client> {
  refuse(errorsInNetworks(networks));
  return atomically(db, async (tx) => {
    const before = await lockClient(tx, clientId);
    const { networks: from } = before;
    const to = [...new Set(networks)];
    if (to.join() === from.join()) return before;
    await recordAudit(tx, { actor, action: 'clients.allow', target: clientId, details: { from, to } });
    return updateClient(tx, clientId, { networks: to });
  });
}

/**
 * Locks the client's row. Concurrent changes of a client wait for each other, so that the audit entry has the true
 * previous value.
 * @throws Refusal not_found
 */
async function lockClient(tx: Handle, clientId: string): Promise<Client> {
  if (!isId(clientId)) throw noClient();
  await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
  const client = await tx.prisma.client.findUnique({ where: { id: clientId }, select: columns });
  if (!client) throw noClient();
  return client;
}

function updateClient(tx: Handle, id: string, data: { revokedAt: Date } | { networks: string[] }): Promise<Client> {
  return tx.prisma.client.update({ where: { id }, data, select: columns });
}

function noClient(): Refusal {
  return new Refusal('not_found', 'There is no such client.');
}
