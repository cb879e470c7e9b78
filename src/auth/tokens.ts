import { hash, type KeyObject } from 'node:crypto';
import { errors, jwtVerify, SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';
import { isId } from '../id-form.js';
import { newId } from '../ids.js';
import { Refusal } from '../refusal.js';
import type { Clock } from './clock.js';
import type { KeyRing } from './key-ring.js';
import { SIGNING_ALGORITHM } from './keys.js';

/** RFC 9068 §2.1 */
const TYPE = 'at+jwt';
/** Verified tokens in the cache. Checking a signature again takes about 0.1 ms. */
const REMEMBERED = 10_000;

/** The claims of a verified token. */
export interface TokenClaims {
  clientId: string;
  secretId: string;
  scopes: readonly string[];
  /** Seconds since 1970. */
  expiresAt: number;
}

export interface TokensOptions {
  keyRing: KeyRing;
  issuer: string;
  audience: string;
  clock: Clock;
}

/** Signs and verifies access tokens (RFC 9068). It does not check whether the client or its secret is revoked. */
export class Tokens {
  readonly #options: TokensOptions;
  readonly #verified = new LRUCache<string, { claims: TokenClaims; kid: string }>({ max: REMEMBERED });

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /** The claims are those of RFC 9068 §2.2 and `secret_id`: the client's secret that the token was issued for. */
  async sign(claims: TokenClaims): Promise<string> {
    const { keyRing, issuer, audience, clock } = this.#options;
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
    const { keyRing, clock } = this.#options;
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
    const { keyRing, issuer, audience, clock } = this.#options;
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
      const { client_id: clientId, secret_id: secretId, scope, exp } = payload;
      if (
        typeof clientId !== 'string' ||
        !isId(clientId) ||
        typeof secretId !== 'string' ||
        typeof scope !== 'string' ||
        !exp ||
        !protectedHeader.kid
      ) {
        throw new errors.JWTInvalid('a claim has the wrong form');
      }
      return { claims: { clientId, secretId, scopes: scope.split(' '), expiresAt: exp }, kid: protectedHeader.kid };
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

export function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
