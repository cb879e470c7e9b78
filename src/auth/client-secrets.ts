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
 * Gives the client a further secret. The existing secrets stay active, unless `expireOldIn` (ms) makes them expire. If
 * there are more than two active secrets, the oldest are revoked at once. Concurrent rotations wait for each other on
 * the client's row.
 * @throws Refusal not_found; invalid_request if the client is revoked
 */
export async function rotateSecret(
  db: Handle,
  actor: Actor,
  clientId: string,
  { expireOldIn }: { expireOldIn?: number | undefined } = {},
): Promise<NewClientSecret> {
  if (!isId(clientId)) throw noClient();
  return atomically(db, async (tx) => {
    const [client] = await tx.query<{ revoked: boolean }>(
      'select revoked_at is not null as revoked from clients where id = $1::uuid for update',
      [clientId],
    );
    if (!client) throw noClient();
    if (client.revoked) throw new Refusal('invalid_request', 'The client is revoked.');
    if (expireOldIn !== undefined) await expireSecrets(tx, clientId, expireOldIn);
    const revoked = await retireOldestSecrets(tx, clientId);
    const added = await addSecret(tx, clientId);
    const details = {
      secret_id: added.secretId,
      ...(expireOldIn !== undefined && { expire_old: formatDuration(expireOldIn) }),
      ...(revoked.length > 0 && { revoked }),
    };
    await recordAudit(tx, { actor, action: 'clients.rotate-secret', target: clientId, details });
    return added;
  });
}

/**
 * Revokes a secret at once, and within 5 s every token issued for it. A second call changes nothing.
 * @throws Refusal not_found
 */
export async function revokeSecret(db: Handle, actor: Actor, clientId: string, secretId: string): Promise<void> {
  if (!isId(clientId) || !isId(secretId)) throw noSecret();
  await atomically(db, async (tx) => {
    const [secret] = await tx.query<{ revoked: boolean }>(
      `select revoked_at is not null as revoked from client_secrets
       where id = $1::uuid and client_id = $2::uuid for update`,
      [secretId, clientId],
    );
    if (!secret) throw noSecret();
    if (secret.revoked) return;
    await tx.query('update client_secrets set revoked_at = now() where id = $1::uuid', [secretId]);
    const details = { secret_id: secretId };
    await recordAudit(tx, { actor, action: 'clients.revoke-secret', target: clientId, details });
  });
}

async function expireSecrets(db: Handle, clientId: string, milliseconds: number): Promise<void> {
  await db.query(
    `update client_secrets
     set expires_at = least(expires_at, clock_timestamp() + $2::float8 * interval '1 millisecond')
     where client_id = $1::uuid and revoked_at is null returning id`,
    [clientId, milliseconds],
  );
}

/** Revokes the oldest active secrets, so that one more may be added. @returns the ids of the revoked secrets */
async function retireOldestSecrets(db: Handle, clientId: string): Promise<string[]> {
  const retired = await db.query<{ id: string }>(
    `update client_secrets set revoked_at = clock_timestamp()
     where id in (
       select id from client_secrets
       where client_id = $1::uuid and revoked_at is null and (expires_at is null or expires_at > clock_timestamp())
       order by created_at desc, id desc offset $2::int
     ) returning id`,
    [clientId, MAX_ACTIVE_SECRETS - 1],
  );
  return retired.map(({ id }) => id);
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
