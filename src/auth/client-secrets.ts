import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { atomically, type Handle } from '../database/database.js';
import { formatDuration } from '../duration.js';
import { isId } from '../id-form.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import type { Secret } from '../secret.js';
import { makeRandomSecret } from './random-secret.js';

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
 * @throws Refusal not_found; invalid_request if the client is revoked, or has two active secrets: the service cannot
 * know which one the client still uses
 */
export async function rotateSecret(
  db: Handle,
  actor: Actor,
  clientId: string,
  { expireOldIn, revoke }: { expireOldIn?: number | undefined; revoke?: string | undefined } = {},
): Promise<NewClientSecret & { revoked: string[] }> {
  if (!isId(clientId)) throw noClient();
  return atomically(db, async (tx) => {
    const [client] = await tx.query<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from clients where id = $1::uuid for update',
      [clientId],
    );
    if (!client) throw noClient();
    if (client.revoked) throw new Refusal('invalid_request', 'The client is revoked.');
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

/** @throws Refusal invalid_request that names the active secrets, if the client may have no further one */
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
    'invalid_request',
    `The client already has two active secrets: ${described.join(' and ')}. Choose the one to revoke now: --revoke SECRET_ID.`,
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
