import type { Call, CallOptions, QueryOf, ResultOf } from '../operations.js';
import type { Meta } from '../types.js';

/** The service itself. These calls need no token. */
export class Service {
  readonly #call: Call;

  /** @internal */
  constructor(call: Call) {
    this.#call = call;
  }

  /** Reads the environment, the versions, the delays of the retries and the addresses that deliveries come from. */
  meta(options?: CallOptions): Promise<Meta> {
    return this.#call('getMeta', {}, options);
  }

  /** Checks that the process is alive. */
  health(options?: CallOptions): Promise<ResultOf<'getHealth'>> {
    return this.#call('getHealth', {}, options);
  }

  /** Checks that the process can serve requests. */
  readiness(options?: CallOptions): Promise<ResultOf<'getReadiness'>> {
    return this.#call('getReadiness', {}, options);
  }

  /** Reads the OpenAPI 3.1 document. */
  openApi(options?: CallOptions): Promise<ResultOf<'getOpenApi'>> {
    return this.#call('getOpenApi', {}, options);
  }

  /** Reads the vectors that test a verifier of `Service-Signature`. */
  signatureVectors(options?: CallOptions): Promise<ResultOf<'getSignatureVectors'>> {
    return this.#call('getSignatureVectors', {}, options);
  }

  /** Reads the public keys that verify access tokens and statements (RFC 7517); `retired`: of the last 13 months. */
  jwks(query?: QueryOf<'getJwks'>, options?: CallOptions): Promise<ResultOf<'getJwks'>> {
    return this.#call('getJwks', { query }, options);
  }

  /** Reads the metadata of the token endpoint (RFC 8414). */
  authorizationServer(options?: CallOptions): Promise<ResultOf<'getAuthorizationServer'>> {
    return this.#call('getAuthorizationServer', {}, options);
  }

  /** Reads the same metadata, with what OpenID clients require, at their path. */
  openIdConfiguration(options?: CallOptions): Promise<ResultOf<'getOpenIdConfiguration'>> {
    return this.#call('getOpenIdConfiguration', {}, options);
  }
}
