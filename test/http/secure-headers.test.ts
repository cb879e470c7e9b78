import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { secureHeaders } from '../../src/http/middleware.js';

async function headersOf(baseUrl: string): Promise<Headers> {
  const app = new Koa();
  app.use(secureHeaders(baseUrl) as Koa.Middleware);
  const server = app.listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    return (await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}/`)).headers;
  } finally {
    server.close();
  }
}

test('an API with an https address tells browsers to use nothing else', async () => {
  const headers = await headersOf('https://api.example.com');
  expect(headers.get('strict-transport-security')).toBe('max-age=63072000');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
});

test('an API with an http address does not', async () => {
  expect((await headersOf('http://localhost:3000')).has('strict-transport-security')).toBe(false);
});
