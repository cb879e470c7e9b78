import { TransferServiceError } from './error.js';
import { parseObject, refusalOf } from './refusal.js';
import { Failure, MOST_TIME, withRetries } from './retry.js';
import { send } from './send.js';
import type { Settings } from './settings.js';
import { TIME_IS_UP, withTimeLimit } from './time-limit.js';

interface Token {
  value: string;
  /** By `performance.now()`: from then on a new token is requested while this one is still used. */
  renewAt: number;
  /** By `performance.now()`: from then on it is not used. */
  expiresAt: number;
}

/** A request for a token that is in flight. */
interface Renewal {
  token: Promise<Token>;
  /** How many callers wait for it. */
  callers: number;
  abort: AbortController;
}

const TITLE = 'POST /oauth/token';
/** A token is renewed when a fifth of its lifetime is left, and at most this long before its end. ms */
const MOST_AHEAD = 300_000;
/** A renewal that failed while the token is still valid is tried again after this time. ms */
const RENEWAL_PAUSE = 5_000;
/**
 * A rejected secret is not sent again for this time: each attempt counts against the address, which others share. ms
 */
const REJECTION_PAUSE = 60_000;
/** Secrets that errors must not show: those of the last rotations. */
const REMEMBERED_SECRETS = 5;
/** RFC 6749 lets a server omit `expires_in`. In seconds. */
const ASSUMED_LIFETIME = 300;

/**
 * Gets, keeps and renews the access token (RFC 6749 §4.4). All callers share one request. The token is renewed in the
 * background before it expires, so that no call waits for it and a short outage of the token endpoint harms none.
 */
export class TokenSource {
  readonly #settings: Settings;
  #token: Token | undefined;
  #renewal: Renewal | undefined;
  /** The secret that the token endpoint rejected, with its error, until a time of `performance.now()`. */
  #rejected: { secret: string; error: TransferServiceError; until: number } | undefined;
  #secrets: readonly string[] = [];

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** The client secrets that were sent, newest first. */
  get secrets(): readonly string[] {
    return this.#secrets;
  }

  /**
   * Returns the token, waiting at most `ms` for it.
   * @throws TransferServiceError, TIME_IS_UP, or the reason of `signal`
   */
  async get(ms: number, signal: AbortSignal | undefined): Promise<string> {
    const token = this.#token;
    const now = performance.now();
    if (!token || now >= token.expiresAt) return (await this.#await(ms, signal)).value;
    if (now >= token.renewAt) {
      token.renewAt = now + RENEWAL_PAUSE;
      // It counts as a caller that never stops waiting.
      this.#renew().callers++;
    }
    return token.value;
  }

  /** Forgets a token that the API rejected, unless it has been replaced already. */
  discard(value: string): void {
    if (this.#token?.value === value) this.#token = undefined;
  }

  /** Shares the request with other callers. It is aborted when the last of them has stopped waiting. */
  async #await(ms: number, signal: AbortSignal | undefined): Promise<Token> {
    const renewal = this.#renew();
    renewal.callers++;
    try {
      return await withTimeLimit(ms, signal, () => renewal.token);
    } finally {
      renewal.callers--;
      if (renewal.callers === 0) {
        renewal.abort.abort();
        if (this.#renewal === renewal) this.#renewal = undefined;
      }
    }
  }

  #renew(): Renewal {
    if (this.#renewal) return this.#renewal;
    const abort = new AbortController();
    const renewal = { token: this.#send(abort.signal), callers: 0, abort };
    this.#renewal = renewal;
    renewal.token
      .then(
        (token) => {
          this.#token = token;
        },
        () => {},
      )
      .finally(() => {
        if (this.#renewal === renewal) this.#renewal = undefined;
      });
    return renewal;
  }

  async #send(signal: AbortSignal): Promise<Token> {
    const { authUrl, clientId, audience, fetch } = this.#settings;
    const deadline = performance.now() + MOST_TIME;
    const secret = await this.#readSecret(signal);
    const json = { client_id: clientId, client_secret: secret, audience, grant_type: 'client_credentials' };
    try {
      return await withRetries({ deadline, signal }, async () => {
        const sentAt = performance.now();
        const request = { method: 'POST', url: `${authUrl}/oauth/token`, title: TITLE, headers: {}, json };
        const response = await send(fetch, { ...request, repeatable: true }, { deadline, signal });
        if (response.status !== 200) throw refusalOf(response, { title: TITLE, secrets: [secret] });
        return parse(parseObject(response), sentAt);
      });
    } catch (error) {
      if (error instanceof TransferServiceError && error.code === 'invalid_client') {
        this.#rejected = { secret, error, until: performance.now() + REJECTION_PAUSE };
      }
      throw error;
    }
  }

  /**
   * @throws TransferServiceError if the secret was rejected a short time ago, or does not come; what the function
   * throws
   */
  async #readSecret(signal: AbortSignal): Promise<string> {
    const secret = await withTimeLimit(MOST_TIME, signal, this.#settings.readSecret).catch((error: unknown) => {
      if (error !== TIME_IS_UP) throw error;
      throw new TransferServiceError('clientSecret returned nothing within the time limit', { code: 'timeout' });
    });
    if (this.#rejected?.secret === secret && performance.now() < this.#rejected.until) throw this.#rejected.error;
    this.#secrets = [secret, ...this.#secrets.filter((other) => other !== secret)].slice(0, REMEMBERED_SECRETS);
    return secret;
  }
}

function parse(body: Record<string, unknown> | undefined, sentAt: number): Token {
  const { access_token: value, expires_in: seconds } = body ?? {};
  if (typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value)) {
    throw new Failure(
      new TransferServiceError(`${TITLE}: the response contains no token`, { code: 'invalid_response', status: 200 }),
      undefined,
    );
  }
  const lifetime = (typeof seconds === 'number' && seconds > 0 ? seconds : ASSUMED_LIFETIME) * 1_000;
  return {
    value,
    renewAt: sentAt + lifetime - Math.min(MOST_AHEAD, lifetime / 5),
    expiresAt: sentAt + lifetime - Math.min(10_000, lifetime / 10),
  };
}
