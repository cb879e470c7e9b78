import { hash, randomUUID } from 'node:crypto';
import { errors, type JWK, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { SignedStatement } from '../../clients/typescript/src/statement.js';
import type { Config } from '../platform/config/config.js';
import { type Database, readClock } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { within } from '../platform/deadline.js';
import { isId } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import type { Secret } from '../platform/secret.js';
import type { Log } from '../platform/telemetry/log.js';
import { withinMemory } from '../platform/within-memory.js';
import { type Caller, includesScope } from './caller.js';
import { type Assertion, AssertionFault, findSigner, readAssertion, useOnce } from './client-assertion.js';
import { type ClientRecord, checkCredentials, isAlive, readClientRecord } from './client-record.js';
import { type Clock, Fresh, postgresClock } from './fresh.js';
import { KeyRing, readOrMakeSigningKeys, readRetiredKeys, SIGNING_ALGORITHM } from './signing-keys.js';

/** A client that has authenticated with one of its secrets or keys. */
export interface VerifiedClient {
  clientId: string;
  /** The secret or the key. */
  secretId: string;
  byKey: boolean;
  /** Every scope that the client may be granted. */
  scopes: readonly string[];
  /** When that secret expires, ms since 1970; null: never. A token expires no later than its secret. */
  secretExpiresAt: number | null;
}

/** The secret or the token is valid, but the request comes from an address outside of the client's networks. */
export class OutsideOfNetworks extends Refusal {
  constructor(
    readonly secretId: string,
    readonly byKey = false,
  ) {
    super('network_not_allowed', "The request comes from outside of the client's networks.");
  }
}

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
 * ms after which a read of clients or keys fails. What it finds may be as old as the read, and a revoked client, secret
 * or key is refused within 5 s. No shorter: on a busy machine, a read that takes seconds refuses
 * nothing.
 */
const READ_LIMIT = 4_500;
/** Above as many clients in 3 s, a record would be read for most requests anyway. */
const MAX_CLIENTS = 10_000;
/** Verified tokens in the cache, some 50,000. Checking a signature again takes about 0.1 ms. */
const REMEMBERED = withinMemory<TokenClaims>(16);
/** RFC 9068 §2.1 */
const TYPE = 'at+jwt';
/** Another type than that of tokens: a statement's signature gives no access. */
const STATEMENT_TYPE = 'statement+jwt';

/** What the signature of a statement covers, but for what signing adds. */
export type StatementClaims = Omit<SignedStatement, 'iss' | 'iat'>;

/** The claims of a verified token and the key that signed it; `expiresAt` in seconds since 1970. */
const CLAIMS = z
  .object({
    client_id: z.string().refine(isId),
    secret_id: z.string().optional(),
    key_id: z.string().optional(),
    scope: z.string(),
    exp: z.number(),
    kid: z.string(),
  })
  .refine(({ secret_id, key_id }) => (secret_id === undefined) !== (key_id === undefined))
  .transform(({ client_id: clientId, secret_id, key_id, scope, exp: expiresAt, kid }) => {
    const by = { secretId: secret_id ?? key_id ?? '', byKey: key_id !== undefined };
    return { clientId, ...by, scopes: scope.split(' '), expiresAt, kid };
  });
type TokenClaims = z.output<typeof CLAIMS>;

/** Whether the secret or key behind a token still authenticates the client. @param now ms since 1970 */
function isValid(client: ClientRecord, { secretId, byKey }: TokenClaims, now: number): boolean {
  if (byKey) return client.keys.some(({ id }) => id === secretId);
  const secret = client.secrets.find(({ id }) => id === secretId);
  return secret !== undefined && isAlive(secret, now) && !client.requirePrivateKey;
}

/**
 * Opens the environment's authority. It reads nothing before its first use, so that the API starts without Postgres.
 */
export function openAuthority(dependencies: AuthorityDependencies) {
  const { config, database, masterKeys, log } = dependencies;
  const { authUrl: issuer, baseUrl: audience, accessTokenLifetime: lifetime } = config;

  /** Turns a read that fails into `unavailable`. The cause is in the log. */
  const readInTime = async <T>(reading: Promise<T>): Promise<T> => {
    try {
      return await within(READ_LIMIT, reading);
    } catch (error) {
      if (error instanceof AssertionFault) throw error;
      log.warn({ err: error }, 'the store of clients and keys cannot be read');
      throw new Refusal('unavailable', 'Access cannot be checked now. The request had no effect.');
    }
  };
  const clock = dependencies.clock ?? postgresClock(() => readInTime(readClock(database)));
  const seconds = async () => Math.floor((await clock.now()) / 1_000);
  const read = (clientId: string) => readInTime(readClientRecord(database, clientId));
  const clients = new LRUCache<string, Fresh<ClientRecord | undefined>>({
    max: MAX_CLIENTS,
    memoMethod: (clientId) => new Fresh(() => read(clientId), clock),
  });
  const keyRing = new KeyRing(
    () => readInTime(readOrMakeSigningKeys(database, masterKeys, lifetime)),
    masterKeys,
    clock,
  );
  const retiredKeys = new Fresh(() => readInTime(readRetiredKeys(database)), clock);
  const verified = new LRUCache<string, TokenClaims>(REMEMBERED);

  /** RFC 9068 §4 and RFC 8725 §3: this service decides algorithm, type, issuer and audience, not the token. */
  const checkToken = async (token: string): Promise<TokenClaims> => {
    const keyOf = async ({ kid = '' }) => {
      const key = await keyRing.verificationKey(kid);
      if (!key) throw new errors.JWKSNoMatchingKey();
      return key;
    };
    const currentDate = new Date(await clock.now());
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
        algorithms: [SIGNING_ALGORITHM],
        typ: TYPE,
        issuer,
        audience,
        requiredClaims: ['exp', 'iat', 'sub', 'jti'],
        currentDate,
      });
      const claims = CLAIMS.safeParse({ ...payload, kid: protectedHeader.kid });
      if (!claims.success) throw new errors.JWTInvalid('a claim has the wrong form');
      return claims.data;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw error;
      const problem = error instanceof errors.JWTExpired ? 'has expired' : 'is not valid';
      throw new Refusal('invalid_token', `The access token ${problem}; get a new one from the token endpoint.`);
    }
  };

  /** @throws Refusal invalid_token */
  const verifyToken = async (token: string): Promise<TokenClaims> => {
    const digest = hash('sha256', token, 'base64url');
    const known = verified.get(digest);
    // The token's key may have been revoked after the first verification.
    if (known && known.expiresAt > (await seconds()) && (await keyRing.verificationKey(known.kid))) return known;
    const claims = await checkToken(token);
    verified.set(digest, claims);
    return claims;
  };

  return {
    /** `iss` of the tokens (AUTH_URL). */
    issuer,
    /** `aud` of the tokens (BASE_URL). */
    audience,

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
      const found = await checkCredentials(read, clientId, clientSecret, await clock.now());
      if (!found) return undefined;
      const { client, secret } = found;
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secret.id);
      const { id: secretId, expiresAt: secretExpiresAt } = secret;
      return { clientId: client.id, secretId, byKey: false, scopes: client.scopes, secretExpiresAt };
    },

    /**
     * The client that an assertion (RFC 7523) authenticates. The assertion is used up.
     * @throws AssertionFault; OutsideOfNetworks; Refusal unavailable
     */
    async verifyAssertion({ assertion, clientId }: Assertion, address: string): Promise<VerifiedClient> {
      const claims = readAssertion(assertion, [issuer, `${issuer}/oauth/token`], await clock.now());
      // RFC 7521 §4.2
      if ((clientId ?? claims.clientId) !== claims.clientId) throw new AssertionFault('is of another client_id');
      const { client, key } = await findSigner(assertion, claims, read);
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(key.id, true);
      await readInTime(useOnce(database, { ...claims, clientId: client.id }));
      return { clientId: client.id, secretId: key.id, byKey: true, scopes: client.scopes, secretExpiresAt: null };
    },

    /**
     * Issues an RFC 9068 access token. `scopes` must be among the client's scopes and defaults to all of them. In the
     * last second of its secret, the token says that it lasts a second; it is refused when the secret expires.
     * @returns `expiresIn` in seconds, and the scopes separated by spaces
     * @throws Refusal unavailable
     */
    async issue({ clientId, secretId, byKey, scopes: all, secretExpiresAt }: VerifiedClient, scopes = all) {
      const now = await clock.now();
      const issuedAt = Math.floor(now / 1_000);
      const end = Math.min(now + lifetime, secretExpiresAt ?? Number.POSITIVE_INFINITY);
      const expiresIn = Math.max(1, Math.floor(end / 1_000) - issuedAt);
      const scope = scopes.join(' ');
      const { kid, key } = await readInTime(keyRing.signingKey());
      // The claims are those of RFC 9068 §2.2 and the client's secret or key that the token was issued for.
      const by = byKey ? { key_id: secretId } : { secret_id: secretId };
      const accessToken = await new SignJWT({ client_id: clientId, ...by, scope })
        .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: TYPE, kid })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(clientId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + expiresIn)
        .setJti(randomUUID())
        .sign(key);
      return { accessToken, expiresIn, scope };
    },

    /**
     * The caller that a bearer token identifies. The client's scopes and networks are at most 5 s old.
     * @throws OutsideOfNetworks; Refusal invalid_token | unavailable
     */
    async authenticate(bearer: string, address: string): Promise<Caller> {
      const claims = await verifyToken(bearer);
      const record = clients.memo(claims.clientId);
      const { secretId, byKey } = claims;
      const has = (of: ClientRecord | undefined) => (byKey ? of?.keys : of?.secrets)?.some(({ id }) => id === secretId);
      const cached = await record.get();
      // What is missing in the cached record may be newer than the record.
      const client = has(cached) ? cached : await record.refresh();
      if (!client || client.revoked || !isValid(client, claims, await clock.now())) {
        throw new Refusal('invalid_token', 'The access token has been revoked.');
      }
      if (!client.networks.allows(address)) throw new OutsideOfNetworks(secretId, byKey);
      const scopes = new Set(claims.scopes.filter((scope) => includesScope(client.scopes, scope)));
      return { clientId: client.id, secretId, byKey, scopes, rateLimit: client.rateLimit };
    },

    /** Signs a statement of an endpoint. @throws Refusal unavailable */
    async signStatement(claims: StatementClaims): Promise<string> {
      const { kid, key } = await readInTime(keyRing.signingKey());
      return new SignJWT({ ...claims })
        .setProtectedHeader({ alg: SIGNING_ALGORITHM, typ: STATEMENT_TYPE, kid })
        .setIssuer(issuer)
        .setIssuedAt(await seconds())
        .sign(key);
    },

    /**
     * The public keys that verify the tokens (RFC 7517).
     * @param retired also those of the last 13 months, which verify statements
     */
    async jwks(retired = false): Promise<{ keys: JWK[] }> {
      return { keys: await (retired ? retiredKeys.get() : keyRing.publicKeys()) };
    },
  };
}
