import { format, inspect } from 'node:util';
import { pino } from 'pino';
import { Secret } from '../../src/platform/secret.js';

const VALUE = 'do-not-print-me';

describe('Secret', () => {
  const secret = new Secret(VALUE);
  const holder = { nested: [{ secret }] };

  it.each([
    ['a template', () => `${secret}`],
    ['a concatenation', () => `x${String(secret)}`],
    ['JSON', () => JSON.stringify(holder)],
    ['inspect', () => inspect(holder, { depth: 9, showHidden: true })],
    ['format', () => format('%s %o %j', secret, secret, secret)],
    ['an error message', () => String(new Error(`failed with ${secret}`, { cause: secret }))],
    ['the keys and values of the object', () => JSON.stringify(Object.entries(secret)) + JSON.stringify({ ...secret })],
  ])('is redacted in %s', (_, print) => {
    expect(print()).not.toContain(VALUE);
  });

  it('is redacted in a log line', () => {
    const lines: string[] = [];
    pino({}, { write: (line: string) => void lines.push(line) }).info({ holder, secret }, 'hello');
    expect(lines.join()).toContain('[redacted]');
    expect(lines.join()).not.toContain(VALUE);
  });

  it('returns its value from reveal', () => {
    expect(secret.reveal()).toBe(VALUE);
  });
});
