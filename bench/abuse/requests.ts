import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';

/** A request to the API. */
export interface Asked {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: string;
  /** With a new `Idempotency-Key` each time. */
  keyed?: boolean;
}

interface Answered {
  /** 0: no response within the time limit, or the connection broke. */
  status: number;
  /** Of the body. */
  bytes: number;
}

export interface Target {
  baseUrl: string;
  token: string;
  /** The console session, instead of the token. */
  cookie?: string;
  /** Whether connections are kept and reused. */
  keepAlive: boolean;
}

/** ms that a client of the API waits for a response. */
export const PATIENCE = 10_000;

/** Sends requests to the API, over as many connections as needed. */
export function asker({ baseUrl, token, cookie, keepAlive }: Target): (asked: Asked) => Promise<Answered> {
  const agent = new Agent({ keepAlive, maxSockets: 100 });
  return ({ method, path, body, keyed }) =>
    new Promise((resolve) => {
      let bytes = 0;
      const headers = {
        ...(cookie === undefined ? { authorization: `Bearer ${token}` } : { cookie }),
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...(keyed && { 'idempotency-key': randomUUID() }),
      };
      const asking = request(`${baseUrl}${path}`, { method, agent, headers }, (response) => {
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
        });
        response.on('end', () => end(response.statusCode ?? 0));
        response.on('error', () => end(0));
      });
      const timer = setTimeout(() => end(0), PATIENCE);
      const end = (status: number) => {
        clearTimeout(timer);
        if (status === 0) asking.destroy();
        resolve({ status, bytes });
      };
      asking.on('error', () => end(0));
      asking.end(body);
    });
}
