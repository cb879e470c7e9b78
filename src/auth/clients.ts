import type { Handle } from '../database/database.js';
import { isId, newId } from '../ids.js';
import { type Mistake, Refusal } from '../refusal.js';
import { CLIENT_SCOPES, SCOPES } from './caller.js';
import { makeClientSecret, type NewClientSecret } from './client-secrets.js';
import { isNetwork } from './networks.js';

export { revokeSecret, rotateSecret } from './client-secrets.js';

/** A client as the operator sees it. `id` is its client_id. Never holds a secret or its hash. */
export interface Client {
  id: string;
  name: string;
  scopes: string[];
  /** CIDRs it may call from; none: anywhere. */
  networks: string[];
  createdAt: Date;
  revokedAt: Date | null;
}

/** Oldest first; it works while it is neither revoked nor expired. */
export interface ClientSecretInfo {
  id: string;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

export interface NewClient {
  /** 1 to 255 characters, for people. */
  name: string;
  /** The four client scopes where left out. */
  scopes?: readonly string[] | undefined;
  networks?: readonly string[] | undefined;
}

const columns = { id: true, name: true, scopes: true, networks: true, createdAt: true, revokedAt: true } as const;

/**
 * Makes a client with its first secret, which is readable this once.
 * @throws Refusal invalid_request, with every mistake in name, scopes and networks
 */
export async function createClient(db: Handle, wanted: NewClient): Promise<{ client: Client } & NewClientSecret> {
  const scopes = wanted.scopes?.length ? wanted.scopes : CLIENT_SCOPES;
  const networks = wanted.networks ?? [];
  refuse([...mistakesInName(wanted.name), ...mistakesInScopes(scopes), ...mistakesInNetworks(networks)]);
  const { secretId, clientSecret, hash } = makeClientSecret();
  const client = await db.prisma.client.create({
    data: {
      id: newId(),
      name: wanted.name,
      scopes: SCOPES.filter((scope) => scopes.includes(scope)),
      networks: [...new Set(networks)],
      secrets: { create: { id: secretId, hash } },
    },
    select: columns,
  });
  return { client, clientSecret, secretId };
}

/** Every client, revoked ones too, oldest first. */
export function listClients(db: Handle): Promise<Client[]> {
  return db.prisma.client.findMany({ select: columns, orderBy: { id: 'asc' } });
}

/** @throws Refusal not_found */
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
 * Ends a client for good, and within 5 s every token of it. Again: no change.
 * @throws Refusal not_found
 */
export async function revokeClient(db: Handle, clientId: string): Promise<Client> {
  if (!isId(clientId)) throw noClient();
  await db.prisma.client.updateMany({ where: { id: clientId, revokedAt: null }, data: { revokedAt: new Date() } });
  return findClient(db, clientId);
}

/**
 * Replaces the list of networks that the client may call from (none: anywhere); counts within 5 s for live tokens too.
 * @throws Refusal not_found | invalid_request
 */
export async function allowNetworks(db: Handle, clientId: string, networks: readonly string[]): Promise<Client> {
  refuse(mistakesInNetworks(networks));
  if (!isId(clientId)) throw noClient();
  await db.prisma.client.updateMany({ where: { id: clientId }, data: { networks: [...new Set(networks)] } });
  return findClient(db, clientId);
}

async function findClient(db: Handle, clientId: string): Promise<Client> {
  const client = await db.prisma.client.findUnique({ where: { id: clientId }, select: columns });
  if (!client) throw noClient();
  return client;
}

function mistakesInName(name: string): Mistake[] {
  const good = name.trim() !== '' && name.length <= 255 && !name.includes('\0') && !/\p{Surrogate}/u.test(name);
  return good ? [] : [{ pointer: '/name', code: 'invalid', detail: 'The name must be 1 to 255 characters.' }];
}

function mistakesInScopes(scopes: readonly string[]): Mistake[] {
  return scopes
    .filter((scope) => !(SCOPES as readonly string[]).includes(scope))
    .map((scope) => ({
      pointer: '/scopes',
      code: 'unknown_scope',
      detail: `${scope} is no scope; the scopes are ${SCOPES.join(', ')}.`,
    }));
}

function mistakesInNetworks(networks: readonly string[]): Mistake[] {
  return networks
    .filter((network) => !isNetwork(network))
    .map((network) => ({
      pointer: '/networks',
      code: 'invalid_network',
      detail: `${network} is no network; give a CIDR such as 203.0.113.0/24 or 2001:db8::/32.`,
    }));
}

function refuse(mistakes: readonly Mistake[]): void {
  if (mistakes.length > 0) {
    throw new Refusal('invalid_request', mistakes.map((mistake) => mistake.detail).join(' '), mistakes);
  }
}

function noClient(): Refusal {
  return new Refusal('not_found', 'There is no such client.');
}
