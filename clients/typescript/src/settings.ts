/** The function `fetch` of the platform, or one with the same shape. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** The options of a client. */
export interface ClientOptions {
  /** The base URL of the API, such as `https://api.example.com`. `http:` is accepted for this machine only. */
  baseUrl: string;
  /** From the operator. */
  clientId: string;
  /**
   * From the operator. Keep it out of source code; it is in no error and in no output of this package. A function is
   * called for each access token, so that the client goes on with a new secret after a rotation.
   */
  clientSecret: string | (() => string | Promise<string>);
  /** The base URL of the token endpoint; default: `baseUrl`. */
  authUrl?: string;
  /** The audience of the tokens; default: `baseUrl`. */
  audience?: string;
  /** Replaces the platform's `fetch`, for example to use a proxy. */
  fetch?: Fetch;
}

/** The checked options. The URLs have no slash at the end. */
export interface Settings {
  baseUrl: string;
  authUrl: string;
  audience: string;
  clientId: string;
  readSecret: () => Promise<string>;
  fetch: Fetch;
}

/** @throws TypeError that names the invalid option, and never shows the secret */
export function checkOptions(options: ClientOptions): Settings {
  const baseUrl = checkUrl('baseUrl', options.baseUrl);
  return {
    baseUrl,
    authUrl: options.authUrl === undefined ? baseUrl : checkUrl('authUrl', options.authUrl),
    audience: options.audience ?? baseUrl,
    clientId: checkText('clientId', options.clientId),
    readSecret: secretReader(options.clientSecret),
    // Read at each call, so that a program that replaces the global later is served too.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
  };
}

function secretReader(secret: ClientOptions['clientSecret']): () => Promise<string> {
  if (typeof secret === 'function') return async () => checkText('the result of clientSecret', await secret());
  checkText('clientSecret', secret);
  return async () => secret;
}

function checkText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw new TypeError(`${name} must be a string that is not empty`);
  return value;
}

function checkUrl(name: string, value: unknown): string {
  const text = checkText(name, value);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['https:', 'http:'].includes(url.protocol)) {
    throw new TypeError(`${name} must be a URL such as https://api.example.com`);
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError(`${name} must have no user name, password, query or fragment`);
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    throw new TypeError(
      `${name} must be https:, since http: would show the secret to the network; only localhost may be http:`,
    );
  }
  return text.replace(/\/+$/, '');
}

/** Whether a host of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
