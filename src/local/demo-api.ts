import type { SandboxClient } from './demo-service.js';

/** A client of the API, for the demo. */
export class DemoApi {
  #token = '';

  constructor(private readonly client: SandboxClient) {}

  /** Gets a token. @returns the token's lifetime in seconds */
  async authenticate(): Promise<number> {
    const { auth_url, base_url, client_id, client_secret } = this.client;
    const token = await this.#send<{ access_token: string; expires_in: number }>('POST', `${auth_url}/oauth/token`, {
      client_id,
      client_secret,
      audience: base_url,
      grant_type: 'client_credentials',
    });
    this.#token = token.access_token;
    return token.expires_in;
  }

  get<T>(path: string): Promise<T> {
    return this.#send('GET', this.client.base_url + path);
  }

  post<T>(path: string, body: unknown): Promise<T> {
    return this.#send('POST', this.client.base_url + path, body);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.#send('PUT', this.client.base_url + path, body);
  }

  delete(path: string): Promise<void> {
    return this.#send('DELETE', this.client.base_url + path);
  }

  async #send<T>(method: string, url: string, body?: unknown): Promise<T> {
    const response = await fetch(url, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(this.#token && { authorization: `Bearer ${this.#token}` }),
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${url} returned ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}
