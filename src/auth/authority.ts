import { hash, type KeyObject } from 'node:crypto';
import { errors, type JWK, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Config } from '../platform/config/config.js';
import type { Database } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { within } from '../platform/deadline.js';
import { isId, newId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { Secret } from '../platform/secret.js';
import type { Log } from '../platform/telemetry/log.js';
import { withinMemory } from '../platform/within-memory.js';
import { type Caller, includesScope } from './caller.js';
import {
  ClientCache,
  type ClientRecord,
  type Clock,
  checkCredentials,
  isAlive,
  READ_LIMIT,
  readClientRecord,
  systemClock,
} from './client-record.js';
import { KeyRing, readOrMakeSigningKeys, SIGNING_ALGORITHM } from './signing-keys.js';

/** A client that has authenticated with one of its secrets. */
export interface VerifiedClient {
  clientId: string;
  secretId: string;
  /** Every scope that the client may be granted. */
  scopes: readonly string[];
  /** When that secret expires, ms since 1970; null: never. A token expires no later than its secret. */
  secretExpiresAt: number | null;
}

/** The secret or the token is valid, but the request comes from an address outside of the client's networks. */
export class OutsideOfNetworks extends Refusal {
  constructor(readonly secretId: string) {
    super('network_not_allowed', "The request comes from outside of the client's networks.");
  }
}

/** The secret expires within this second: a token that ends with it would not be valid at all. */
export class SecretExpired extends Error {}

/** Decides which client may do what: issues and verifies the access tokens of one environment. */
export type Authority = ReturnType<typeof openAuthority>;

export interface AuthorityDependencies {
  config: Pick<Config, 'authUrl' | 'baseUrl' | 'accessTokenLifetime'>;
  database: Database;
  masterKeys: MasterKeys;
  log: Log;
  clock?: Clock;
}

/**
 * Opens the environment's authority. It reads nothing before its first use, so that the API starts without Postgres.
 */
export function openAuthority(dependencies: AuthorityDependencies) {
  const { config, database, masterKeys, log, clock = systemClock } = dependencies;

  /** Turns a failed read into `unavailable`. The cause is in the log. */
  const orUnavailable = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await reading;
    } catch (error) {
      if (error instanceof Refusal) throw error;
      log.warn({ err: error }, 'the store of clients and keys cannot be read');
      throw new Refusal('unavailable', 'Access cannot be checked now. The request had no effect.');
    }
  };
  const read = (clientId: string) => orUnavailable(within(READ_LIMIT, readClientRecord(database, clientId)));
  const clients = new ClientCache(read, clock);
  const keyRing = new KeyRing({
    read: () => readOrMakeSigningKeys(database, masterKeys),
    masterKeys,
    lifetime: config.accessTokenLifetime,
    clock,
    onFault: (error) => log.warn({ err: error }, 'the signing keys cannot be read again'),
  });
  const tokens = new Tokens({ keyRing, issuer: config.authUrl, audience: config.baseUrl, clock });

  /** The client's record. A secret that is missing in the cached record may be newer than the record. */
  const recordWith = async (clientId: string, secretId: string): Promise<ClientRecord | undefined> => {
    const cached = await clients.get(clientId);
    return cached?.secrets.some(({ id }) => id === secretId) ? cached : clients.refresh(clientId);
  };

  return {
    /** `iss` of the tokens (AUTH_URL). */
    issuer: config.authUrl,
    /** `aud` of the tokens (BASE_URL). */
    audience: config.baseUrl,

    /**
     * Makes the first signing key if there is none, and decrypts the keys. Call it at start.
     * @throws EnvelopeError if the keys are sealed with another MASTER_KEY
     */
    async prepare(): Promise<void> {
      await keyRing.signingKey();
    },

    /**
     * Undefined if the client or the secret is unknown, malformed, revoked or expired. All these cases take the same
     * work, so that the response time reveals nothing.
     * @throws OutsideOfNetworks; Refusal unavailable
     */
    async verifyClient(clientId: string, clientSecret: Secret, address: string): Promise<VerifiedClient | undefined> {
      const found = await checkCredentials(read, clientId, clientSecret, clock.now());
      if (!found) return undefined;
      const { client, secret } = found;
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secret.id);
      return { clientId: client.id, secretId: secret.id, scopes: client.scopes, secretExpiresAt: secret.expiresAt };
    },

    /**
     * Issues an RFC 9068 access token. `scopes` must be among the client's scopes and defaults to all of them.
     * @returns `expiresIn` in seconds, and the scopes separated by spaces
     * @throws SecretExpired; Refusal unavailable
     */
    async issue(client: VerifiedClient, scopes = client.scopes) {
      const now = clock.now();
      const end = Math.min(now + config.accessTokenLifetime, client.secretExpiresAt ?? Number.POSITIVE_INFINITY);
      const expiresAt = seconds(end);
      const expiresIn = expiresAt - seconds(now);
      if (expiresIn < 1) throw new SecretExpired();
      const { clientId, secretId } = client;
      const accessToken = await orUnavailable(tokens.sign({ clientId, secretId, scopes, expiresAt }));
      return { accessToken, expiresIn, scope: scopes.join(' ') };
    },

    /**
     * The caller that a bearer token identifies. The client's scopes and networks are at most 5 s old.
     * @throws OutsideOfNetworks; Refusal invalid_token | unavailable
     */
    async authenticate(bearer: string, address: string): Promise<Caller> {
      const claims = await orUnavailable(tokens.verify(bearer));
      const client = await orUnavailable(recordWith(claims.clientId, claims.secretId));
      const secret = client?.secrets.find(({ id }) => id === claims.secretId);
      if (!client || client.revoked || !secret || !isAlive(secret, clock.now())) {
        throw new Refusal('invalid_token', 'The access token has been revoked.');
      }
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secret.id);
      const scopes = new Set(claims.scopes.filter((scope) => includesScope(client.scopes, scope)));
      return { clientId: client.id, secretId: secret.id, scopes, rateLimit: client.rateLimit };
    },

    /** The public keys that verify the tokens (RFC 7517). */
    async jwks(): Promise<{ keys: JWK[] }> {
      return { keys: await orUnavailable(keyRing.publicKeys()) };
    },
  };
}

/** RFC 9068 §2.1 */
const TYPE = 'at+jwt';
/** Verified tokens in the cache, some 50,000. Checking a signature again takes about 0.1 ms. */
const REMEMBERED = withinMemory<{ claims: TokenClaims; kid: string }>(16);

/** The claims of a verified token; `expiresAt` in seconds since 1970. */
const CLAIMS = z
  .object({ client_id: z.string().refine(isId), secret_id: z.string(), scope: z.string(), exp: z.number() })
  .transform(({ client_id: clientId, secret_id: secretId, scope, exp: expiresAt }) => {
    return { clientId, secretId, scopes: scope.split(' ') as readonly string[], expiresAt };
  });
type TokenClaims = z.output<typeof CLAIMS>;

/** Signs and verifies access tokens (RFC 9068). It does not check whether the client or its secret is revoked. */
class Tokens {
  readonly #verified = new LRUCache<string, { claims: TokenClaims; kid: string }>(REMEMBERED);

  constructor(private readonly options: { keyRing: KeyRing; issuer: string; audience: string; clock: Clock }) {}

  /** The claims are those of RFC 9068 §2.2 and `secret_id`: the client's secret that the token was issued for. */
  async sign(claims: TokenClaims): Promise<string> {
    const { keyRing, issuer, audience, clock } = this.options;
    const { kid, key } = await keyRing.signingKey();
    return new SignJWT({
      client_id: claims.clientId,
      secret_id: claims.secretId,
      scope: claims.scopes.join(' '),
    })
      .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: TYPE, kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(claims.clientId)
      .setIssuedAt(seconds(clock.now()))
      .setExpirationTime(claims.expiresAt)
      .setJti(newId())
      .sign(key);
  }

  /** @throws Refusal invalid_token */
  async verify(token: string): Promise<TokenClaims> {
    const { keyRing, clock } = this.options;
    const digest = hash('sha256', token, 'base64url');
    const known = this.#verified.get(digest);
    if (known && known.claims.expiresAt > seconds(clock.now())) {
      // The token's key may have been revoked after the first verification.
      if (await keyRing.verificationKey(known.kid)) return known.claims;
      throw notValid();
    }
    const checked = await this.#check(token);
    this.#verified.set(digest, checked);
    return checked.claims;
  }

  /** RFC 9068 §4 and RFC 8725 §3: this service decides algorithm, type, issuer and audience, not the token. */
  async #check(token: string): Promise<{ claims: TokenClaims; kid: string }> {
    const { keyRing, issuer, audience, clock } = this.options;
    const keyOf = async ({ kid }: { kid?: string | undefined }): Promise<KeyObject> => {
      const key = kid === undefined ? undefined : await keyRing.verificationKey(kid);
      if (!key) throw new errors.JWKSNoMatchingKey();
      return key;
    };
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
        algorithms: [SIGNING_ALGORITHM],
        typ: TYPE,
        issuer,
        audience,
        requiredClaims: ['exp', 'iat', 'sub', 'jti', 'client_id', 'secret_id', 'scope'],
        currentDate: new Date(clock.now()),
      });
      const claims = CLAIMS.safeParse(payload);
      if (!claims.success || !protectedHeader.kid) throw new errors.JWTInvalid('a claim has the wrong form');
      return { claims: claims.data, kid: protectedHeader.kid };
    } catch (error) {
      if (error instanceof errors.JWTExpired)
        throw new Refusal('invalid_token', 'The access token has expired; get a new one from the token endpoint.');
      if (error instanceof errors.JOSEError) throw notValid();
      throw error;
    }
  }
}

function notValid(): Refusal {
  return new Refusal('invalid_token', 'The access token is not valid; get a new one from the token endpoint.');
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
