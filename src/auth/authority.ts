import type { JWK } from 'jose';
import { Refusal } from '../refusal.js';
import type { Secret } from '../secret.js';
import type { Caller } from './caller.js';

/** A client that has shown a secret of its own. */
export interface VerifiedClient {
  clientId: string;
  secretId: string;
  /** Every scope that it may be granted. */
  scopes: readonly string[];
  /** When that secret ends, ms since 1970: no token of it outlives it. Null: never. */
  secretExpiresAt: number | null;
}

export interface IssuedToken {
  accessToken: string;
  /** Seconds. */
  expiresIn: number;
  /** Space-separated. */
  scope: string;
}

/** The right secret, or a token of it, from an address outside of the client's networks. */
export class OutsideOfNetworks extends Refusal {
  constructor(readonly secretId: string) {
    super('network_not_allowed', "The request comes from outside of the client's networks.");
  }
}

/** Who may do what: tokens and the standing of clients, as one environment knows them. */
export interface Authority {
  /** `iss` of the tokens (AUTH_URL). */
  readonly issuer: string;
  /** `aud` of the tokens (BASE_URL). */
  readonly audience: string;
  /** Makes the first signing key where there is none, and opens the keys: call it at start. @throws EnvelopeError where MASTER_KEY is another */
  prepare(): Promise<void>;
  /**
   * Undefined where client or secret is unknown, malformed, revoked or expired: one answer, and one amount of work.
   * @throws OutsideOfNetworks; Refusal unavailable
   */
  verifyClient(clientId: string, secret: Secret, address: string): Promise<VerifiedClient | undefined>;
  /** An RFC 9068 access token. `scopes` must be among the client's; all of them where left out. @throws Refusal unavailable */
  issue(client: VerifiedClient, scopes?: readonly string[]): Promise<IssuedToken>;
  /**
   * Who a bearer token speaks for, judged on what its client may do now (at most 5 s old).
   * @throws OutsideOfNetworks; Refusal invalid_token | unavailable
   */
  authenticate(bearer: string, address: string): Promise<Caller>;
  /** The public keys that tokens may be verified with (RFC 7517). */
  jwks(): Promise<{ keys: JWK[] }>;
  /** Nothing is held open so far; whoever opened it closes it all the same. */
  close(): Promise<void>;
}
