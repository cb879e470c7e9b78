import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Actor, recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import type { Client, ClientSecret, Prisma } from '../platform/database/generated/client.js';
import { formatDuration } from '../platform/duration.js';
import { isId, newId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';
import { CLIENT_SCOPES, hasOperatorScope, OPERATOR_SCOPES, SCOPES } from './caller.js';

/** A secret as the operator sees it. It is active while it is neither revoked nor expired. */
export type ClientSecretInfo = Pick<ClientSecret, 'id' | 'createdAt' | 'expiresAt' | 'revokedAt'>;

export interface NewClient {
  /** A name for people, 1 to 255 characters. */
  name: string;
  /** Default: the four client scopes. */
  scopes?: readonly string[] | undefined;
  networks?: readonly string[] | undefined;
  /** Requests a second; null: RATE_LIMIT. */
  rateLimit?: number | null | undefined;
  /** Null: MAX_ENDPOINTS. */
  maxEndpoints?: number | null | undefined;
}

/** Makes a client with its first secret. The secret is readable only in this result. The caller has checked the values. */
export async function createClient(db: Handle, actor: Actor, wanted: NewClient) {
  const scopes = wanted.scopes?.length ? wanted.scopes : CLIENT_SCOPES;
  const { secretId, clientSecret, hash } = makeClientSecret();
  return atomically(db, async (tx) => {
    const client = await tx.prisma.client.create({
      data: {
        id: newId(),
        name: wanted.name,
        scopes: SCOPES.filter((scope) => scopes.includes(scope)),
        networks: [...new Set(wanted.networks)],
        rateLimit: wanted.rateLimit ?? null,
        maxEndpoints: wanted.maxEndpoints ?? null,
        secrets: { create: { id: secretId, hash } },
      },
      include: WITH_SECRETS,
    });
    const { id: target, name, scopes: granted, networks: from } = client;
    const limits = limitsOf(client);
    const details = { name, scopes: granted, networks: from, ...given(limits), secret_id: secretId };
    await recordAudit(tx, { actor, action: 'clients.create', target, details });
    return { client, clientSecret, secretId };
  });
}

/** Every client, including revoked clients, oldest first. */
export function listClients(db: Handle): Promise<Client[]> {
  return db.prisma.client.findMany({ orderBy: { id: 'asc' } });
}

const WITH_SECRETS = {
  secrets: {
    select: { id: true, createdAt: true, expiresAt: true, revokedAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  },
} satisfies Prisma.ClientInclude;

export type ClientWithSecrets = Client & { secrets: ClientSecretInfo[] };

/**
 * Lists the clients without a scope of the operator, newest first.
 * @param name a part of the name, in any case
 */
export async function listOrdinaryClients(
  db: Handle,
  { name, before, take }: { name?: string | undefined; before: string | undefined; take: number },
): Promise<ClientWithSecrets[]> {
  const page = [before ?? null, OPERATOR_SCOPES, take];
  const rows = await (name === undefined
    ? db.query<{ id: string }>(listOrdinary(), page)
    : db.query<{ id: string }>(listOrdinary(NAMED), [...page, name]));
  const where = { id: { in: rows.map(({ id }) => id) } };
  return db.prisma.client.findMany({ where, orderBy: { id: 'desc' }, include: WITH_SECRETS });
}

/** ICU knows the case of every letter; a database with the locale C knows only that of ASCII. */
const NAMED = `strpos(lower(name collate "und-x-icu"), lower($4::text collate "und-x-icu")) > 0 and`;
const listOrdinary = (condition = '') => `
select id::text from clients
 where ${condition} ($1::uuid is null or id < $1::uuid) and not scopes && $2::text[]
 order by id desc limit $3::int`;

/**
 * A client without a scope of the operator. Only a command reads or changes the others; the scopes of a client never
 * change.
 * @throws Refusal not_found
 */
export async function showOrdinaryClient(db: Handle, clientId: string): Promise<ClientWithSecrets> {
  const client = await showClient(db, clientId);
  if (hasOperatorScope(client.scopes)) throw noClient();
  return client;
}

/** The client with its secrets, oldest secret first. @throws Refusal not_found */
export async function showClient(db: Handle, clientId: string): Promise<ClientWithSecrets> {
  if (!isId(clientId)) throw noClient();
  const client = await db.prisma.client.findUnique({
    where: { id: clientId },
    include: WITH_SECRETS,
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
    return tx.prisma.client.update({ where: { id: clientId }, data: { revokedAt: new Date() } });
  });
}

/** What is undefined does not change; a limit that is null becomes that of the deployment. */
export type ClientChange = {
  [Field in 'name' | 'networks' | 'rateLimit' | 'maxEndpoints']?: NewClient[Field] | undefined;
};

/** The audit entries of a change, and the values that they compare. */
const CHANGES = [
  ['clients.rename', ({ name }: Client) => name],
  ['clients.allow', ({ networks }: Client) => networks],
  ['clients.set-limits', (client: Client) => limitsOf(client)],
] as const;

/**
 * Changes a client's name, networks (an empty list: any address) and limits, in force within 5 s in every process, also
 * for live tokens.
 * @throws Refusal not_found
 */
export function changeClient(db: Handle, actor: Actor, clientId: string, change: ClientChange): Promise<Client> {
  return atomically(db, async (tx) => {
    const before = await lockClient(tx, clientId);
    const { name = before.name, networks = before.networks } = change;
    const { rateLimit = before.rateLimit, maxEndpoints = before.maxEndpoints } = change;
    const data = { name, networks: [...new Set(networks)], rateLimit, maxEndpoints };
    if (isDeepStrictEqual(before, { ...before, ...data })) return before;
    for (const [action, read] of CHANGES) {
      const [from, to] = [read(before), read({ ...before, ...data })];
      if (isDeepStrictEqual(from, to)) continue;
      await recordAudit(tx, { actor, action, target: clientId, details: { from, to } });
    }
    return tx.prisma.client.update({ where: { id: clientId }, data });
  });
}

const limitsOf = ({ rateLimit, maxEndpoints }: Pick<Client, 'rateLimit' | 'maxEndpoints'>) => ({
  rate_limit: rateLimit,
  max_endpoints: maxEndpoints,
});

const given = (limits: ReturnType<typeof limitsOf>) =>
  Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null));

/**
 * Locks the client's row. Concurrent changes of a client wait for each other, so that the audit entry has the true
 * previous value.
 * @throws Refusal not_found
 */
async function lockClient(tx: Handle, clientId: string): Promise<Client> {
  if (!isId(clientId)) throw noClient();
  await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
  const client = await tx.prisma.client.findUnique({ where: { id: clientId } });
  if (!client) throw noClient();
  return client;
}

/** Secrets of a client that are active at one time. With two, a client replaces a secret without an outage. */
export const MAX_ACTIVE_SECRETS = 2;

/** A secret at the only time at which it is readable. */
export interface NewClientSecret {
  secretId: string;
  clientSecret: Secret;
}

/** A new secret with its id, and the hash that is stored. */
export function makeClientSecret(): NewClientSecret & { hash: Buffer<ArrayBuffer> } {
  const { secret, hash } = makeRandomSecret();
  return { secretId: newId(), clientSecret: secret, hash };
}

/**
 * Gives the client a further secret. The existing secret stays active, unless `expireOldIn` (ms) makes it expire or
 * `revoke`, the id of a secret, ends it at once. Concurrent rotations wait for each other on the client's row.
 * @returns also the ids of the secrets that it revoked
 * @throws Refusal not_found; invalid_request if the client is revoked; two_secrets if it has two active ones: the service
 * cannot know which one the client still uses
 */
export async function rotateSecret(
  db: Handle,
  actor: Actor,
  clientId: string,
  { expireOldIn, revoke }: { expireOldIn?: number | undefined; revoke?: string | undefined } = {},
): Promise<NewClientSecret & { revoked: string[] }> {
  return atomically(db, async (tx) => {
    const client = await lockClient(tx, clientId);
    if (client.revokedAt) throw new Refusal('invalid_request', 'The client is revoked.');
    const revoked = revoke === undefined ? [] : await endSecret(tx, clientId, revoke);
    await requireRoom(tx, clientId);
    if (expireOldIn !== undefined) await expireSecrets(tx, clientId, expireOldIn);
    const added = await addSecret(tx, clientId);
    const details = {
      secret_id: added.secretId,
      ...(expireOldIn !== undefined && { expire_old: formatDuration(expireOldIn) }),
      ...(revoked.length > 0 && { revoked }),
    };
    await recordAudit(tx, { actor, action: 'clients.rotate-secret', target: clientId, details });
    return { ...added, revoked };
  });
}

/**
 * Revokes a secret at once, and within 5 s every token issued for it. A second call changes nothing.
 * @throws Refusal not_found
 */
export async function revokeSecret(db: Handle, actor: Actor, clientId: string, secretId: string): Promise<void> {
  await atomically(db, async (tx) => {
    const [revoked] = await endSecret(tx, clientId, secretId);
    if (revoked === undefined) return;
    const details = { secret_id: revoked };
    await recordAudit(tx, { actor, action: 'clients.revoke-secret', target: clientId, details });
  });
}

/** @returns the secret's id, or nothing if it was revoked before. @throws Refusal not_found */
async function endSecret(tx: Handle, clientId: string, secretId: string): Promise<string[]> {
  if (!isId(clientId) || !isId(secretId)) throw noSecret();
  const [secret] = await tx.query<{ id: string; revoked: boolean }>(
    `select id::text, revoked_at is not null as revoked from client_secrets
     where id = $1::uuid and client_id = $2::uuid for update`,
    [secretId, clientId],
  );
  if (!secret) throw noSecret();
  if (secret.revoked) return [];
  await tx.query('update client_secrets set revoked_at = clock_timestamp() where id = $1::uuid', [secretId]);
  return [secret.id];
}

/** @throws Refusal two_secrets that names the active secrets, if the client may have no further one */
async function requireRoom(tx: Handle, clientId: string): Promise<void> {
  const active = await tx.query<{ id: string; created_at: Date; expires_at: Date | null }>(
    `select id::text, created_at, expires_at from client_secrets
     where client_id = $1::uuid and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
     order by created_at, id`,
    [clientId],
  );
  if (active.length < MAX_ACTIVE_SECRETS) return;
  const described = active.map(({ id, created_at, expires_at }) => {
    const end = expires_at ? `, expires ${expires_at.toISOString()}` : '';
    return `${id} (created ${created_at.toISOString()}${end})`;
  });
  throw new Refusal(
    'two_secrets',
    `The client already has two active secrets: ${described.join(' and ')}. Revoke one first (\`clients rotate-secret\`: --revoke SECRET_ID).`,
  );
}

async function expireSecrets(db: Handle, clientId: string, milliseconds: number): Promise<void> {
  await db.query(
    `update client_secrets
     set expires_at = least(expires_at, clock_timestamp() + $2::float8 * interval '1 millisecond')
     where client_id = $1::uuid and revoked_at is null returning id`,
    [clientId, milliseconds],
  );
}

/**
 * `created_at` is `clock_timestamp()`, not the transaction's start: of two racing transactions, the one that waited for
 * the row adds the newer secret.
 */
async function addSecret(db: Handle, clientId: string): Promise<NewClientSecret> {
  const { secretId, clientSecret, hash } = makeClientSecret();
  await db.query(
    `insert into client_secrets (id, client_id, hash, created_at)
     values ($1::uuid, $2::uuid, decode($3::text, 'hex'), clock_timestamp()) returning id`,
    [secretId, clientId, hash.toString('hex')],
  );
  return { secretId, clientSecret };
}

function noSecret(): Refusal {
  return new Refusal('not_found', 'The client has no such secret.');
}

function noClient(): Refusal {
  return new Refusal('not_found', 'There is no such client.');
}

const SECRET_BYTES = 32;

/** 32 random bytes in base64url (43 characters), with the hash that is stored. */
export function makeRandomSecret(): { secret: Secret; hash: Buffer<ArrayBuffer> } {
  const secret = new Secret(randomBytes(SECRET_BYTES).toString('base64url'));
  return { secret, hash: hashSecret(secret) };
}

/** SHA-256 of the text's UTF-8 bytes. A slow hash is not needed: 256 random bits cannot be guessed at any speed. */
export function hashSecret(secret: Secret): Buffer<ArrayBuffer> {
  return Buffer.from(createHash('sha256').update(secret.reveal(), 'utf8').digest());
}
