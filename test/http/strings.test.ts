import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { apiRoutes } from '../../src/http/app.js';
import { exampleBody } from '../../src/http/openapi/schemas.js';
import { newId } from '../../src/platform/ids.js';
import { openApi } from '../support/api.js';

const api = await openApi({ env: { MAX_ENDPOINTS: '10000' } });
const [client, operator] = [await api.client(), await api.client(['operator'])];

/**
 * Any string: lone surrogates, U+0000, prototype names, control characters, texts with a meaning in other languages.
 */
const nasty = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 20 }),
  fc.constantFrom(
    '\0',
    '\ud800',
    '\udfff\ud800',
    '__proto__',
    'constructor',
    "'; drop table clients; --",
    '%s%n',
    '{{x}}',
    '\u202e',
    'null',
    '2026-02-30T00:00:00Z',
    '-0',
    '1e999',
  ),
);
const anything = fc.oneof(nasty, fc.jsonValue({ maxDepth: 3 }), fc.constant(null));

/** Each place in each run of the suite: the seeds differ. */
const runs = { numRuns: 4 };

describe('no string causes an internal error', () => {
  it('anywhere in a body', async () => {
    for (const route of apiRoutes(api.dependencies)) {
      if (!route.body) continue;
      const example = exampleBody(route.body);
      const caller = route.scopes.includes('operator') ? operator : client;
      const path = route.path.replace(/{\w+}/, newId());
      for (const place of placesIn(example)) {
        await fc.assert(
          fc.asyncProperty(anything, async (value) => {
            const { status, text } = await caller.call(route.method, path, { json: replaced(example, place, value) });
            expect([route.operationId, place, status < 500 || text]).toEqual([route.operationId, place, true]);
          }),
          runs,
        );
      }
      await fc.assert(
        fc.asyncProperty(nasty, anything, async (name, value) => {
          const json = Object.defineProperty({ ...example }, name, { value, enumerable: true });
          expect((await caller.call(route.method, path, { json })).status).toBeLessThan(500);
        }),
        runs,
      );
    }
  });

  it('in a query or a path', async () => {
    const wellFormed = nasty.map((text) =>
      new URLSearchParams([[text, '']]).toString().slice(0, -1).replaceAll('+', '%20'),
    );
    for (const route of apiRoutes(api.dependencies)) {
      if (route.method !== 'GET') continue;
      for (const parameter of [...Object.keys((route.query as z.ZodObject).shape), 'other']) {
        await fc.assert(
          fc.asyncProperty(wellFormed, async (value) => {
            const path = route.path.replace(/{\w+}/, newId());
            expect((await client.call('GET', `${path}?${parameter}=${value}`)).status).toBeLessThan(500);
          }),
          runs,
        );
      }
      if (!route.path.includes('{')) continue;
      await fc.assert(
        fc.asyncProperty(wellFormed, async (id) => {
          expect((await client.call('GET', route.path.replace(/{\w+}/, id))).status).toBeLessThan(500);
        }),
        runs,
      );
    }
  });

  it('in a header', async () => {
    const latin1 = fc.string({
      unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => (code === 0x7f ? ' ' : String.fromCharCode(code))),
      maxLength: 300,
    });
    for (const name of ['Idempotency-Key', 'X-Request-Id', 'Content-Type', 'Authorization', 'X-Forwarded-For']) {
      await fc.assert(
        fc.asyncProperty(latin1, async (value) => {
          const { status } = await client.call('POST', '/transfers', { raw: '{}', headers: { [name]: value } });
          expect(status).toBeLessThan(500);
        }),
        runs,
      );
    }
  });
});

/** The path of every value in an example. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  const own = path.length > 0 ? [[...path]] : [];
  if (typeof value !== 'object' || value === null) return own;
  return [...own, ...Object.entries(value).flatMap(([name, inner]) => placesIn(inner, [...path, name]))];
}

function replaced(value: unknown, [first, ...rest]: readonly string[], by: unknown): unknown {
  if (first === undefined) return by;
  const object = value as Record<string, unknown>;
  return { ...object, [first]: replaced(object[first], rest, by) };
}
