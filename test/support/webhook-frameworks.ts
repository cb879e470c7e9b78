import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Router from '@koa/router';
import Koa from 'koa';
import { transferWebhooks as forExpress } from '../../clients/typescript/src/express.js';
import { transferWebhooks as forFastify } from '../../clients/typescript/src/fastify.js';
import { transferWebhooks as forFetch } from '../../clients/typescript/src/fetch.js';
import { transferWebhooks as forKoa } from '../../clients/typescript/src/koa.js';
import type { WebhookOptions } from '../../clients/typescript/src/receiver/receive.js';
import { importTool } from './tooling.js';

export const { default: express } = await importTool('express');
const { default: Fastify } = await importTool('fastify');
const { default: serverless } = await importTool('serverless-http');
const { default: fastifyOnLambda } = await importTool('@fastify/aws-lambda');

const closers: (() => Promise<unknown>)[] = [];
/** Stops the servers that a test has started. */
export async function closeServers(): Promise<void> {
  for (const close of closers.splice(0)) await close();
}

/** Serves at a free port. @returns the URL of the webhook */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    return once(server.close(), 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

/** A server of a platform that hands standard requests to a handler. */
function standard(handler: (request: Request) => Promise<Response>): RequestListener {
  return async (incoming, outgoing) => {
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const body =
      incoming.method === 'GET' ? {} : { body: incoming as unknown as ReadableStream, duplex: 'half' as const };
    const request = new Request('http://localhost/hooks', { method: incoming.method ?? '', headers, ...body });
    const response = await handler(request).catch(() => new Response(null, { status: 500 }));
    outgoing.writeHead(response.status).end(await response.text());
  };
}

/** Starts each framework with the webhook as its guide shows it. */
export const FRAMEWORKS: Record<string, (options: WebhookOptions) => Promise<string>> = {
  express: (options) => {
    const app = express();
    app.post('/hooks', forExpress(options));
    app.use(express.json());
    return serve(app);
  },
  'express behind express.raw': (options) => {
    const app = express();
    app.post('/hooks', express.raw({ type: 'application/json' }), forExpress(options));
    return serve(app);
  },
  'express behind express.text': (options) => {
    const app = express();
    app.post('/hooks', express.text({ type: '*/*' }), forExpress(options));
    return serve(app);
  },
  'node:http': (options) => serve(forExpress(options)),
  async fastify(options) {
    const app = Fastify();
    app.register(forFastify, { path: '/hooks', ...options });
    // Other routes keep Fastify's own parser.
    app.post('/other', async (request: { body: unknown }) => typeof request.body);
    closers.push(() => app.close());
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/hooks`;
  },
  koa(options) {
    const app = new Koa();
    const router = new Router();
    app.silent = true;
    router.post('/hooks', forKoa(options));
    return serve(app.use(router.routes()).callback());
  },
  fetch: (options) => serve(standard(forFetch(options))),
};

/**
 * A gateway in front of a function: it makes an event of API Gateway from a request, and a response from the result.
 */
function gateway(
  invoke: (event: object, context: object) => Promise<{ statusCode: number; body: string }>,
): RequestListener {
  return async (incoming, outgoing) => {
    const event = {
      ...{ version: '2.0', rawPath: '/hooks', rawQueryString: '', headers: incoming.headers },
      requestContext: { http: { method: incoming.method, path: '/hooks', sourceIp: '127.0.0.1' } },
      ...{ body: await text(incoming), isBase64Encoded: false },
    };
    const { statusCode, body } = await invoke(event, {});
    outgoing.writeHead(statusCode).end(body);
  };
}

/** Frameworks on platforms and behind parsers whose requests are not those of `node:http`. */
export const HOSTS: typeof FRAMEWORKS = {
  'express behind a parser that keeps rawBody': (options) => {
    const app = express();
    const verify = (request: { rawBody?: Buffer }, _: unknown, bytes: Buffer) => {
      request.rawBody = bytes;
    };
    app.post('/hooks', express.json({ verify, strict: false }), forExpress(options));
    return serve(app);
  },
  'express on serverless-http': (options) => {
    const app = express();
    app.post('/hooks', forExpress(options));
    return serve(gateway(serverless(app)));
  },
  'node:http on serverless-http': (options) => serve(gateway(serverless(createServer(forExpress(options))))),
  'koa on serverless-http': (options) => {
    const app = new Koa();
    app.silent = true;
    return serve(gateway(serverless(app.use(forKoa(options)))));
  },
  'fastify on @fastify/aws-lambda': (options) => {
    const app = Fastify();
    app.register(forFastify, { path: '/hooks', ...options });
    closers.push(() => app.close());
    return serve(gateway(fastifyOnLambda(app)));
  },
};
