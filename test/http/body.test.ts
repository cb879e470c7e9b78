import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { apiRoutes } from '../../src/http/app.js';
import { exampleBody } from '../../src/http/openapi/schemas.js';
import type { Route } from '../../src/http/route.js';
import { openApi } from '../support/api.js';
import { transferRequest } from '../support/transfers.js';

const api = await openApi();
const client = await api.client();

const post = (raw: string | Uint8Array, headers: Record<string, string> = {}) =>
  client.call('POST', '/transfers', { raw, headers });

describe('a request body', () => {
  const json = JSON.stringify(transferRequest());

  it.each<[string, string | Uint8Array]>([
    ['empty', ''],
    ['blank', ' \n'],
    ['not JSON', '{'],
    ['two values', '{} {}'],
    ['JSON with a comment', '{} // x'],
    ['NaN', '{"amount": NaN}'],
    ['invalid as UTF-8', Buffer.concat([Buffer.from('{"reference":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])],
    ['an object with a repeated member', json.replace('{"amount"', '{"amount":{"value":1,"currency":"EUR"},"amount"')],
    ['an object with a repeated member, escaped', json.replace('"name"', '"n\\u0061me":"x","name"')],
    ['text with a raw control character', '{"reference":"\u0001"}'],
    ['UTF-16', Buffer.from(json, 'utf16le')],
  ])('that is %s is malformed', async (_, raw) => {
    const { status, body } = await post(raw);
    expect([status, body.code]).toEqual([400, 'malformed_request']);
  });

  it.each(['null', '[]', '"x"', '5', 'true', '[[[[1]]]]'])('of %.20s is not an object', async (raw) => {
    const { status, body } = await post(raw);
    expect([status, body.code, body.errors]).toEqual([
      422,
      'invalid_request',
      [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }],
    ]);
  });

  it.each([
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['application/json;charset="UTF-8"', 201],
    ['Application/JSON', 201],
    ['application/json; charset=iso-8859-1', 415],
    ['application/json; charset=utf-16', 415],
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/xml', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/jsonp', 415],
    ['', 415],
  ])('of the type %j gets %d', async (type, expected) => {
    const { status, body } = await post(Buffer.from(json), { 'Content-Type': type });
    expect(status).toBe(expected);
    if (expected === 415) expect(body.code).toBe('unsupported_media_type');
  });

  it.each(['gzip', 'br', 'deflate', 'zstd'])('encoded with %s gets 415', async (encoding) => {
    const { status } = await post(gzipSync(json), { 'Content-Encoding': encoding });
    expect(status).toBe(415);
  });

  it('is limited to 64 KiB', async () => {
    const fill = (bytes: number) => `${json}${' '.repeat(bytes - Buffer.byteLength(json))}`;
    expect((await post(fill(65_536))).status).toBe(201);
    const tooLarge = await post(fill(65_537));
    expect([tooLarge.status, tooLarge.body.code]).toEqual([413, 'payload_too_large']);
    expect((await post(fill(5_000_000))).status).toBe(413);
  });

  it('is limited to 64 KiB in chunks of unknown length', async () => {
    const chunk = Buffer.alloc(10_000, ' ');
    const stream = new ReadableStream({
      start(controller) {
        for (let i = 0; i < 20; i++) controller.enqueue(chunk);
        controller.close();
      },
    });
    const reply = await fetch(`${api.url}/transfers`, {
      method: 'POST',
      body: stream,
      duplex: 'half',
      headers: { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json' },
    } as RequestInit);
    expect(reply.status).toBe(413);
  });

  it('is read after the token and the scope are checked', async () => {
    const reader = await api.client(['transfers:read']);
    const raw = 'x'.repeat(100_000);
    expect((await api.call('POST', '/transfers', { raw })).status).toBe(401);
    expect((await reader.call('POST', '/transfers', { raw })).status).toBe(403);
    expect((await client.call('POST', '/transfers', { raw })).status).toBe(413);
  });
});

describe('null in a body', () => {
  const accept = (route: Route, body: object) =>
    route.accept({ bytes: Buffer.from(JSON.stringify(body)), search: new URLSearchParams(), params: {} } as never);

  it('is as good as absent for each optional field of each POST and PUT', () => {
    const bodies = apiRoutes(api.dependencies).filter(({ method, body }) => body && /^(POST|PUT)$/.test(method));
    const tried = bodies.flatMap((route) => {
      const { properties = {}, required = [] } = z.toJSONSchema(route.body as z.ZodType, { io: 'input' });
      return Object.keys(properties)
        .filter((name) => !required.includes(name))
        .map((name) => {
          expect(() => accept(route, { ...exampleBody(route.body as z.ZodType), [name]: null })).not.toThrow();
          return `${route.method} ${route.path} ${name}`;
        });
    });
    for (const one of ['POST /transfers metadata', 'PUT /webhook-endpoints/{webhookId} enabled']) {
      expect(tried).toContain(one);
    }
  });

  it('is as good as absent within objects, and hides neither a required nor an unknown field', async () => {
    const { status, body } = await post(JSON.stringify(transferRequest({ metadata: { order: '1', empty: null } })));
    expect([status, body.metadata]).toEqual([201, { order: '1' }]);
    const wrong = transferRequest({ amout: null, destination: { name: null, account: 'x', bic: null } });
    const errors = (await post(JSON.stringify(wrong))).body.errors as { pointer: string; code: string }[];
    expect(errors.map(({ pointer, code }) => `${pointer} ${code}`).sort()).toEqual([
      '/amout unknown_field',
      '/destination/bic unknown_field',
      '/destination/name required',
    ]);
  });
});
