import { timingSafeEqual } from 'node:crypto';
import type { JWK } from 'jose';
import type { Handle } from '../platform/database/database.js';
import { isId, NIL_ID } from '../platform/ids.js';
import { Networks } from '../platform/networks.js';
import type { Secret } from '../platform/secret.js';
import { hashSecret, MAX_ACTIVE_SECRETS } from './clients.js';

/** The facts that decide whether a client and its tokens are accepted. */
export interface ClientRecord {
  id: string;
  revoked: boolean;
  scopes: readonly string[];
  networks: Networks;
  /** Requests a second; null: RATE_LIMIT. */
  rateLimit: number | null;
  /** Newest first, including expired and revoked secrets. A secret that is made after the read is missing. */
  secrets: readonly SecretRecord[];
  /** Its secrets are refused. */
  requirePrivateKey: boolean;
  keys: readonly KeyRecord[];
}

/** A public key that authenticates the client. */
export interface KeyRecord {
  id: string;
  kid: string | null;
  alg: string | null;
  publicJwk: JWK;
}

interface SecretRecord {
  id: string;
  /** In hexadecimal. */
  hash: string;
  revoked: boolean;
  /** ms since 1970; null: never. */
  expiresAt: number | null;
}

type Row = Omit<ClientRecord, 'networks'> & { networks: string[] };

const STATEMENT = `
  select c.id::text, c.revoked_at is not null as revoked, to_json(c.scopes) as scopes, to_json(c.networks) as networks,
    c.rate_limit as "rateLimit", c.require_private_key as "requirePrivateKey",
    (select coalesce(json_agg(json_build_object('id', k.id, 'kid', k.kid, 'alg', k.alg, 'publicJwk', k.public_jwk)), '[]')
       from client_keys k where k.client_id = c.id) as keys,
    (select coalesce(json_agg(json_build_object(
       'id', s.id, 'hash', encode(s.hash, 'hex'), 'revoked', s.revoked_at is not null,
       'expiresAt', floor(extract(epoch from s.expires_at) * 1000)
     ) order by s.created_at desc, s.id desc), '[]') from client_secrets s where s.client_id = c.id) as secrets
  from clients c where c.id = $1::uuid`;

/** Reads a client in one statement, also if the client does not exist. `clientId` must be a UUID. */
export async function readClientRecord(db: Handle, clientId: string): Promise<ClientRecord | undefined> {
  const [row] = await db.hot<Row>(STATEMENT, [clientId]);
  return row && { ...row, networks: new Networks(row.networks) };
}

/** Whether the secret, and each token issued for it, is valid at `now` (ms since 1970). */
export function isAlive(secret: SecretRecord, now: number): boolean {
  return !secret.revoked && (secret.expiresAt === null || secret.expiresAt > now);
}

const NO_HASH = '00'.repeat(32);

/**
 * The client and its secret that matches `clientSecret`. Undefined if the client is unknown, malformed or revoked, or
 * must use its key, or if no active secret of it matches. All these cases do the same work: one read, one hash, and a
 * comparison in constant time for each secret that a client may have, with no early exit.
 */
export async function checkCredentials(
  read: (clientId: string) => Promise<ClientRecord | undefined>,
  clientId: string,
  clientSecret: Secret,
  now: number,
): Promise<{ client: ClientRecord; secret: SecretRecord } | undefined> {
  const given = hashSecret(clientSecret);
  // A malformed client_id is looked up too, at the same cost.
  const client = await read(isId(clientId) ? clientId : NIL_ID);
  const secrets = client?.secrets.filter((secret) => isAlive(secret, now)) ?? [];
  let match: SecretRecord | undefined;
  for (let i = 0; i < MAX_ACTIVE_SECRETS; i++) {
    const secret = secrets[i];
    const equal = timingSafeEqual(given, Buffer.from(secret?.hash ?? NO_HASH, 'hex'));
    if (equal && secret) match = secret;
  }
  return client && match && !client.revoked && !client.requirePrivateKey ? { client, secret: match } : undefined;
}
