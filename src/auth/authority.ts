import type { JWK } from 'jose';
import { Refusal } from '../refusal.js';
import type { Secret } from '../secret.js';
import type { Caller } from './caller.js';

/** A client that has authenticated with one of its secrets. */
export interface VerifiedClient {
  clientId: string;
  secretId: string;
  /** Every scope that the client may be granted. */
  scopes: readonly string[];
  /** When that secret expires, ms since 1970; null: never. A token expires no later than its secret. */
  secretExpiresAt: number | null;
}

export interface IssuedToken {
  accessToken: string;
  /** Seconds. */
  expiresIn: number;
  /** Space-separated. */
  scope: string;
}

/** The secret or the token is valid, but the request comes from an address outside of the client's networks. */
export class OutsideOfNetworks extends Refusal {
  constructor(readonly secretId: string) {
    super('network_not_allowed', "The request comes from outside of the client's networks.");
  }
}

/** Decides which client may do what: issues and verifies the access tokens of one environment. */
export interface Authority {
  /** `iss` of the tokens (AUTH_URL). */
  readonly issuer: string;
  /** `aud` of the tokens (BASE_URL). */
  readonly audience: string;
  /**
   * Makes the first signing key if there is none, and decrypts the keys. Call it at start.
   * @throws EnvelopeError if the keys are sealed with another MASTER_KEY
   */
  prepare(): Promise<void>;
  /**
   * Undefined if the client or the secret is unknown, malformed, revoked or expired. All these cases take the same
   * work, so that the response time reveals nothing.
   * @throws OutsideOfNetworks; Refusal unavailable
   */
  verifyClient(clientId: string, secret: Secret, address: string): Promise<VerifiedClient | undefined>;
  /**
   * Issues an RFC 9068 access token. `scopes` must be among the client's scopes and defaults to all of them.
   * @throws Refusal unavailable
   */
  issue(client: VerifiedClient, scopes?: readonly string[]): Promise<IssuedToken>;
  /**
   * The caller that a bearer token identifies. The client's scopes and networks are at most 5 s old.
   * @throws OutsideOfNetworks; Refusal invalid_token | unavailable
   */
  authenticate(bearer: string, address: string): Promise<Caller>;
  /** The public keys that verify the tokens (RFC 7517). */
  jwks(): Promise<{ keys: JWK[] }>;
  /** Must be called at the end, although the current implementation holds nothing open. */
  close(): Promise<void>;
}
