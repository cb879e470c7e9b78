import { generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import type { Database, Handle } from '../database/database.js';
import type { MasterKeys } from '../database/encryption.js';
import { Refusal } from '../refusal.js';
import { Secret } from '../secret.js';
import { within } from '../time-limit.js';
import { endLinkedSessions } from './console-sessions.js';

export { rotateMasterKey } from './master-key.js';

export const SIGNING_ALGORITHM = 'RS256';

/** ms after which a read fails. A request with a valid token waits no longer than this for a database that hangs. */
const READ_LIMIT = 1_500;
/** Serialises the processes that make a signing key. The number is used for nothing else. */
const ADVISORY_LOCK = 7_415_001;

/** A signing key as it is stored. The ages come from Postgres's clock, so that all processes agree on them. */
export interface StoredKey {
  kid: string;
  publicJwk: JWK;
  privateKeyEnvelope: string;
  /** ms since the key was made. */
  age: number;
  /** ms since a newer key was made; null for the newest. */
  retiredFor: number | null;
}

interface NewKey {
  kid: string;
  publicJwk: JWK;
  privateKeyEnvelope: string;
}

/** Every signing key, newest first. */
async function readSigningKeys(db: Handle): Promise<StoredKey[]> {
  const rows = await db.hot<{ key: StoredKey }>(
    `select json_build_object(
       'kid', kid, 'publicJwk', public_jwk, 'privateKeyEnvelope', private_key_envelope,
       'age', extract(epoch from clock_timestamp() - created_at) * 1000,
       'retiredFor', extract(epoch from clock_timestamp() - retired_at) * 1000) as key
     from signing_keys order by created_at desc, kid`,
    [],
  );
  return rows.map((row) => row.key);
}

/**
 * Every signing key, newest first. Makes the first key if there is none; of concurrent processes, only one makes it.
 */
export async function readOrMakeSigningKeys(database: Database, masterKeys: MasterKeys): Promise<StoredKey[]> {
  const keys = await within(READ_LIMIT, readSigningKeys(database));
  if (keys.length > 0) return keys;
  const first = await makeSigningKey(masterKeys);
  return database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    if ((await readSigningKeys(handle)).length === 0) await addSigningKey(handle, first);
    return readSigningKeys(handle);
  });
}

/**
 * Makes a new signing key. Every process signs with it within 15 s, after all processes have had the time to read it
 * (src/auth/key-ring.ts). The previous key verifies until the last token that it signed has expired.
 */
export async function rotateSigningKey(
  database: Database,
  actor: Actor,
  masterKeys: MasterKeys,
): Promise<{ kid: string }> {
  const key = await makeSigningKey(masterKeys);
  await database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    const retired = await handle.query<{ kid: string }>(
      'update signing_keys set retired_at = clock_timestamp() where retired_at is null returning kid',
      [],
    );
    await addSigningKey(handle, key);
    const details = { retired: retired.map(({ kid }) => kid) };
    await recordAudit(handle, { actor, action: 'keys.rotate', target: key.kid, details });
  });
  return { kid: key.kid };
}

/**
 * Removes a stolen signing key. Every process refuses the key's tokens within 5 s (src/auth/key-ring.ts). Sessions of
 * the console by a link end, since a forged token may have made the link. If it is the newest key, the same transaction
 * adds a new key.
 * @throws Refusal not_found
 */
export async function revokeSigningKey(
  database: Database,
  actor: Actor,
  masterKeys: MasterKeys,
  kid: string,
): Promise<{ newKid: string | null }> {
  const replacement = await makeSigningKey(masterKeys);
  return database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    const [revoked] = await handle.query<{ newest: boolean }>(
      'delete from signing_keys where kid = $1::text returning retired_at is null as newest',
      [kid],
    );
    if (!revoked) throw new Refusal('not_found', 'There is no such signing key.');
    await endLinkedSessions(handle);
    if (revoked.newest) await addSigningKey(handle, replacement);
    const newKid = revoked.newest ? replacement.kid : null;
    await recordAudit(handle, { actor, action: 'keys.revoke', target: kid, details: { new_kid: newKid } });
    return { newKid };
  });
}

/** An RSA key of 2048 bits (RFC 7518 §3.3). `kid` is its thumbprint (RFC 7638) and the envelope's associated data. */
async function makeSigningKey(masterKeys: MasterKeys): Promise<NewKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const bare = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(bare);
  // `keys revoke` would parse a kid with a leading dash as an option.
  if (kid.startsWith('-')) return makeSigningKey(masterKeys);
  const pem = new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return {
    kid,
    publicJwk: { ...bare, kid, alg: SIGNING_ALGORITHM, use: 'sig' },
    privateKeyEnvelope: masterKeys.seal(pem, kid),
  };
}

async function lockSigningKeys(db: Handle): Promise<void> {
  await db.query('select pg_advisory_xact_lock($1::int)::text', [ADVISORY_LOCK]);
}

/**
 * `created_at` is `clock_timestamp()`: of two racing transactions, the one that waited for the lock adds the newer key.
 */
async function addSigningKey(db: Handle, key: NewKey): Promise<void> {
  await db.query(
    `insert into signing_keys (kid, public_jwk, private_key_envelope, created_at)
     values ($1::text, $2::text::jsonb, $3::text, clock_timestamp()) returning kid`,
    [key.kid, JSON.stringify(key.publicJwk), key.privateKeyEnvelope],
  );
}
