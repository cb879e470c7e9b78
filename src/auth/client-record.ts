import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Handle } from '../platform/database/database.js';
import { isId, NIL_ID } from '../platform/ids.js';
import { Networks } from '../platform/networks.js';
import type { Secret } from '../platform/secret.js';
import { hashSecret, MAX_ACTIVE_SECRETS } from './clients.js';

/** The two clocks of the auth code. A test sets them. */
export interface Clock {
  /** The wall clock, ms since 1970, for the times in tokens. */
  now(): number;
  /** A monotonic clock, ms since any point, for the ages of cached records. */
  steady(): number;
}

export const systemClock: Clock = { now: () => Date.now(), steady: () => performance.now() };

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
}

interface SecretRecord {
  id: string;
  hash: Buffer;
  revoked: boolean;
  /** ms since 1970; null: never. */
  expiresAt: number | null;
}

type Row = Omit<ClientRecord, 'networks' | 'secrets'> & {
  networks: string[];
  secrets: (Omit<SecretRecord, 'hash'> & { hash: string })[];
};

const STATEMENT = `
  select c.id::text, c.revoked_at is not null as revoked, to_json(c.scopes) as scopes, to_json(c.networks) as networks,
    c.rate_limit as "rateLimit",
    (select coalesce(json_agg(json_build_object(
       'id', s.id, 'hash', encode(s.hash, 'hex'), 'revoked', s.revoked_at is not null,
       'expiresAt', floor(extract(epoch from s.expires_at) * 1000)
     ) order by s.created_at desc, s.id desc), '[]') from client_secrets s where s.client_id = c.id) as secrets
  from clients c where c.id = $1::uuid`;

/** Reads a client in one statement, also if the client does not exist. `clientId` must be a UUID. */
export async function readClientRecord(db: Handle, clientId: string): Promise<ClientRecord | undefined> {
  const [row] = await db.hot<Row>(STATEMENT, [clientId]);
  if (!row) return undefined;
  const secrets = row.secrets.map((secret) => ({ ...secret, hash: Buffer.from(secret.hash, 'hex') }));
  return { ...row, networks: new Networks(row.networks), secrets };
}

/** Whether the secret, and each token issued for it, is valid at `now` (ms since 1970). */
export function isAlive(secret: SecretRecord, now: number): boolean {
  return !secret.revoked && (secret.expiresAt === null || secret.expiresAt > now);
}

/**
 * ms after which a read of clients or keys fails. What it finds may be as old as the read, and a revoked client, secret or
 * key is refused within 5 s (contract, Scopes). No shorter: on a busy machine, a read that takes seconds refuses nothing.
 */
export const READ_LIMIT = 4_500;

/** ms, counted from the start of the read. */
const MAX_AGE = 3_000;
/**
 * ms after which a use of the record starts to read it again without waiting for the result, so that a slow read on a
 * busy machine refuses no request.
 */
const REFRESH_AFTER = 2_000;
/** Above as many clients in 3 s, a record would be read for most requests anyway. */
const MAX_CLIENTS = 10_000;

/**
 * Caches the records of clients. A cached record is at most 3 s old, counted from the start of its look-up. Each client has
 * at most one look-up in progress.
 */
export class ClientCache {
  readonly #records: LRUCache<string, ClientRecord>;
  /** Clients whose record is read again while the present record is used. */
  readonly #refreshing = new Set<string>();

  /** @param read takes at most `READ_LIMIT` */
  constructor(read: (clientId: string) => Promise<ClientRecord | undefined>, clock: Clock) {
    this.#records = new LRUCache({
      max: MAX_CLIENTS,
      ttl: MAX_AGE,
      ttlResolution: 0,
      ignoreFetchAbort: true,
      // A record whose refresh fails is used until it is 3 s old.
      noDeleteOnFetchRejection: true,
      perf: { now: () => clock.steady() },
      fetchMethod: async (clientId, _stale, { options }) => {
        const begun = clock.steady();
        const record = await read(clientId);
        options.ttl = Math.max(1, MAX_AGE - (clock.steady() - begun));
        return record;
      },
    });
  }

  /** Rejects if the record cannot be read and the cached record is too old. */
  async get(clientId: string): Promise<ClientRecord | undefined> {
    const remaining = this.#records.getRemainingTTL(clientId);
    const record = remaining > 0 ? this.#records.peek(clientId) : undefined;
    if (!record) return this.#records.fetch(clientId);
    if (remaining <= MAX_AGE - REFRESH_AFTER) void this.#refreshBehind(clientId);
    return record;
  }

  /** Like `get`, but bypasses the cache: for a token whose secret is newer than the cached record. */
  async refresh(clientId: string): Promise<ClientRecord | undefined> {
    // A refresh in progress may have begun before the secret was made.
    if (this.#refreshing.has(clientId)) await this.#records.fetch(clientId).catch(() => undefined);
    return this.#records.fetch(clientId, { forceRefresh: true });
  }

  async #refreshBehind(clientId: string): Promise<void> {
    if (this.#refreshing.has(clientId)) return;
    this.#refreshing.add(clientId);
    // The next use tries again, and fails when the record is too old.
    await this.#records.fetch(clientId, { forceRefresh: true }).catch(() => undefined);
    this.#refreshing.delete(clientId);
  }
}

const NO_HASH = Buffer.alloc(32);

/**
 * The client and its secret that matches `clientSecret`. Undefined if the client is unknown, malformed or revoked, or
 * if no active secret of the client matches. All these cases do the same work: one read, one hash, and a comparison in
 * constant time for each secret that a client may have, with no early exit.
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
    const equal = timingSafeEqual(given, secret?.hash ?? NO_HASH);
    if (equal && secret) match = secret;
  }
  return client && match && !client.revoked ? { client, secret: match } : undefined;
}
