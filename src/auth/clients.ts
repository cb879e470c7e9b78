import { createHash, randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Actor, recordAudit } from '../platform/audit.js';
import { atomically, type Handle, readClock } from '../platform/database/database.js';
import type { Client, Prisma } from '../platform/database/generated/client.js';
import { formatDuration } from '../platform/duration.js';
import { isId, takeId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';
import { CLIENT_SCOPES, hasOperatorScope, OPERATOR_SCOPES, SCOPES } from './caller.js';

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
  /** Its secrets are refused. */
  requirePrivateKey?: boolean | undefined;
}

/**
 * Makes a client with its first secret. The secret is readable only in this result. The caller has checked the values.
 * @throws Refusal no_keys
 */
export async function createClient(db: Handle, actor: Actor, wanted: NewClient) {
  const { name, rateLimit = null, maxEndpoints = null, requirePrivateKey = false } = wanted;
  if (requirePrivateKey) throw noKeys();
  const scopes = wanted.scopes?.length ? wanted.scopes : CLIENT_SCOPES;
  const { secret: clientSecret, hash } = makeRandomSecret();
  return atomically(db, async (tx) => {
    const { id, at: createdAt } = await takeId(tx);
    const { id: secretId } = await takeId(tx);
    const client = await tx.prisma.client.create({
      data: {
        id,
        name,
        scopes: SCOPES.filter((scope) => scopes.includes(scope)),
        networks: [...new Set(wanted.networks)],
        rateLimit,
        maxEndpoints,
        createdAt,
        secrets: { create: { id: secretId, hash, createdAt } },
      },
      include: WITH_SECRETS,
    });
    const details = {
      name,
      scopes: client.scopes,
      networks: client.networks,
      ...limitsOf(client),
      secret_id: secretId,
    };
    await recordAudit(tx, { actor, action: 'clients.create', target: client.id, details });
    return { client, clientSecret, secretId };
  });
}

/** Every client, including revoked clients, oldest first. */
export function listClients(db: Handle): Promise<Client[]> {
  return db.prisma.client.findMany({ orderBy: { id: 'asc' } });
}

const WITH_SECRETS = {
  keys: {
    select: { id: true, kid: true, alg: true, thumbprint: true, createdAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  },
  secrets: {
    select: { id: true, createdAt: true, expiresAt: true, revokedAt: true },
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
  },
} satisfies Prisma.ClientInclude;

/** A client with its secrets and keys, oldest first. A secret is active while it is neither revoked nor expired. */
export type ClientWithSecrets = Prisma.ClientGetPayload<{ include: typeof WITH_SECRETS }>;

/**
 * Lists the clients without a scope of the operator, newest first.
 * @param name a part of the name, in any case
 */
export async function listOrdinaryClients(
  db: Handle,
  { name, before, take }: { name?: string | undefined; before: string | undefined; take: number },
): Promise<ClientWithSecrets[]> {
  const rows = await db.query<{ id: string }>(LIST_ORDINARY, [before ?? null, OPERATOR_SCOPES, take, name ?? null]);
  const where = { id: { in: rows.map(({ id }) => id) } };
  return db.prisma.client.findMany({ where, orderBy: { id: 'desc' }, include: WITH_SECRETS });
}

/** ICU knows the case of every letter; a database with the locale C knows only that of ASCII. */
const LIST_ORDINARY = `
select id::text from clients
 where ($1::uuid is null or id < $1::uuid) and not scopes && $2::text[]
   and ($4::text is null or strpos(lower(name collate "und-x-icu"), lower($4::text collate "und-x-icu")) > 0)
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

/** Locks the row of an ordinary client, and reads it. @throws Refusal not_found */
export async function lockOrdinaryClient(tx: Handle, clientId: string): Promise<ClientWithSecrets> {
  await lockClient(tx, clientId);
  return showOrdinaryClient(tx, clientId);
}

/** @throws Refusal not_found */
export async function showClient(db: Handle, clientId: string): Promise<ClientWithSecrets> {
  if (!isId(clientId)) throw noClient();
  const client = await db.prisma.client.findUnique({ where: { id: clientId }, include: WITH_SECRETS });
  if (!client) throw noClient();
  return client;
}

/**
 * Revokes a client permanently, and within 5 s every token of it. A second call changes nothing.
 * @throws Refusal not_found
 */
export function revokeClient(db: Handle, actor: Actor, clientId: string): Promise<ClientWithSecrets> {
  return atomically(db, async (tx) => {
    const before = await lockClient(tx, clientId);
    if (before.revokedAt) return before;
    await recordAudit(tx, { actor, action: 'clients.revoke', target: clientId });
    await tx.query('update clients set revoked_at = clock_timestamp() where id = $1::uuid', [clientId]);
    return showClient(tx, clientId);
  });
}

/** What is undefined does not change; a limit that is null becomes that of the deployment. */
type ClientChange = Omit<NewClient, 'name' | 'scopes'> & { name?: string | undefined };

/** The audit entries of a change, and the values that they compare. */
const CHANGES = [
  ['clients.rename', ({ name }: Client) => name],
  ['clients.allow', ({ networks }: Client) => networks],
  ['clients.set-limits', (client: Client) => limitsOf(client)],
  ['clients.require-key', ({ requirePrivateKey }: Client) => requirePrivateKey],
] as const;

/**
 * Changes a client's name, networks (an empty list: any address) and limits, in force within 5 s in every process, also
 * for live tokens.
 * @throws Refusal not_found | no_keys
 */
export function changeClient(db: Handle, actor: Actor, clientId: string, change: ClientChange): Promise<Client> {
  return atomically(db, async (tx) => {
    const before = await lockClient(tx, clientId);
    const { name = before.name, networks = before.networks } = change;
    const { rateLimit = before.rateLimit, maxEndpoints = before.maxEndpoints } = change;
    const { requirePrivateKey = before.requirePrivateKey } = change;
    if (change.requirePrivateKey && before.keys.length === 0) throw noKeys();
    const data = { name, networks: [...new Set(networks)], rateLimit, maxEndpoints, requirePrivateKey };
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

const noKeys = () => new Refusal('no_keys', 'The client has no key: set its keys first, then require them.');

/**
 * Locks the client's row. Concurrent changes of a client wait for each other, so that the audit entry has the true
 * previous value.
 * @throws Refusal not_found
 */
export async function lockClient(tx: Handle, clientId: string): Promise<ClientWithSecrets> {
  if (isId(clientId)) await tx.query('select id from clients where id = $1::uuid for no key update', [clientId]);
  return showClient(tx, clientId);
}

/** Secrets of a client that are active at one time. With two, a client replaces a secret without an outage. */
export const MAX_ACTIVE_SECRETS = 2;

/**
 * Gives the client a further secret. The existing secret stays active, unless `expireOldIn` (ms) makes it expire or
 * `revoke`, the id of a secret, ends it at once. Concurrent rotations wait for each other on the client's row.
 * @returns also the ids of the secrets that it revoked
 * @throws Refusal not_found; invalid_request if the client is revoked; two_secrets if it has two active ones: the
 * service cannot know which one the client still uses
 */
export async function rotateSecret(
  db: Handle,
  actor: Actor,
  clientId: string,
  { expireOldIn, revoke }: { expireOldIn?: number | undefined; revoke?: string | undefined } = {},
) {
  return atomically(db, async (tx) => {
    const client = await lockClient(tx, clientId);
    if (client.revokedAt) throw new Refusal('invalid_request', 'The client is revoked.');
    const revoked = revoke !== undefined && (await endSecret(tx, clientId, revoke)) ? [revoke] : [];
    const now = await readClock(tx);
    const active = await tx.prisma.clientSecret.findMany({
      where: { clientId, revokedAt: null, ...endsAfter(new Date(now)) },
      orderBy: { id: 'asc' },
    });
    if (active.length >= MAX_ACTIVE_SECRETS) throw twoSecrets(active);
    if (expireOldIn !== undefined) {
      const expiresAt = new Date(now + expireOldIn);
      const where = { clientId, revokedAt: null, ...endsAfter(expiresAt) };
      await tx.prisma.clientSecret.updateMany({ where, data: { expiresAt } });
    }
    const { id: secretId, at: createdAt } = await takeId(tx);
    const { secret: clientSecret, hash } = makeRandomSecret();
    await tx.prisma.clientSecret.create({ data: { id: secretId, clientId, hash, createdAt } });
    const details = {
      secret_id: secretId,
      ...(expireOldIn !== undefined && { expire_old: formatDuration(expireOldIn) }),
      ...(revoked.length > 0 && { revoked }),
    };
    await recordAudit(tx, { actor, action: 'clients.rotate-secret', target: clientId, details });
    return { secretId, clientSecret, revoked };
  });
}

const endsAfter = (time: Date) => ({ OR: [{ expiresAt: null }, { expiresAt: { gt: time } }] });

function twoSecrets(active: readonly { id: string }[]): Refusal {
  const ids = active.map(({ id }) => id).join(' and ');
  return new Refusal(
    'two_secrets',
    `The client already has two active secrets, the older first: ${ids}. Revoke one (\`clients rotate-secret\`: --revoke SECRET_ID).`,
  );
}

/**
 * Revokes a secret at once, and within 5 s every token issued for it. A second call changes nothing.
 * @throws Refusal not_found
 */
export async function revokeSecret(db: Handle, actor: Actor, clientId: string, secretId: string): Promise<void> {
  await atomically(db, async (tx) => {
    if (!(await endSecret(tx, clientId, secretId))) return;
    const details = { secret_id: secretId };
    await recordAudit(tx, { actor, action: 'clients.revoke-secret', target: clientId, details });
  });
}

/** @returns false if the secret was revoked before. @throws Refusal not_found */
async function endSecret(tx: Handle, clientId: string, secretId: string): Promise<boolean> {
  const where = { id: secretId, clientId };
  const known = isId(clientId) && isId(secretId) && (await tx.prisma.clientSecret.findFirst({ where }));
  if (!known) throw noSecret();
  return (await tx.query(END_SECRET, [secretId])).length > 0;
}

const END_SECRET = `
update client_secrets set revoked_at = clock_timestamp() where id = $1::uuid and revoked_at is null returning id::text`;

export const noSecret = () => new Refusal('not_found', 'The client has no such secret.');

function noClient(): Refusal {
  return new Refusal('not_found', 'There is no such client.');
}

/** 32 random bytes in base64url (43 characters), with the hash that is stored. */
export function makeRandomSecret(): { secret: Secret; hash: Buffer<ArrayBuffer> } {
  const secret = new Secret(randomBytes(32).toString('base64url'));
  return { secret, hash: hashSecret(secret) };
}

/** SHA-256 of the text's UTF-8 bytes. A slow hash is not needed: 256 random bits cannot be guessed at any speed. */
export function hashSecret(secret: Secret): Buffer<ArrayBuffer> {
  return Buffer.from(createHash('sha256').update(secret.reveal(), 'utf8').digest());
}
