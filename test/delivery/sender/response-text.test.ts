import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { MAX_BODY_BYTES } from '../../../src/delivery/sender/response-meter.js';
import { KEPT_BYTES, responseText } from '../../../src/delivery/sender/response-text.js';

const read = (body: Uint8Array, contentType?: string, contentEncoding?: string) =>
  Promise.resolve(responseText(Buffer.from(body), { contentType, contentEncoding }));
const textOf = async (...args: Parameters<typeof read>) => (await read(...args)).text;
const TEXT = 'Datenbank nicht erreichbar: Müller';

describe('a compressed body', () => {
  test.each<[string, Buffer]>([
    ['gzip', gzipSync(TEXT)],
    ['x-gzip', gzipSync(TEXT)],
    ['GZip', gzipSync(TEXT)],
    ['deflate', deflateSync(TEXT)],
    ['deflate', deflateRawSync(TEXT)],
    ['br', brotliCompressSync(TEXT)],
    ['zstd', zstdCompressSync(TEXT)],
    ['gzip, br', brotliCompressSync(gzipSync(TEXT))],
    ['identity', Buffer.from(TEXT)],
    ['', Buffer.from(TEXT)],
  ])('is text again: %s', async (coding, bytes) => {
    expect(await read(bytes, 'text/plain', coding)).toEqual({ text: TEXT, faulty: false });
  });

  test.each<[string, (input: string) => Buffer]>([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('of %s is read up to the bytes that arrived', async (coding, compress) => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i} ${Math.sqrt(i)}`).join('\n');
    const cut = compress(lines).subarray(0, MAX_BODY_BYTES);
    expect(cut.length).toBe(MAX_BODY_BYTES);
    expect(await textOf(cut, 'text/plain', coding)).toBe(lines.slice(0, KEPT_BYTES));
  });

  test.each<[string, Buffer]>([
    ['gzip', gzipSync(Buffer.alloc(2 ** 22))],
    ['br', brotliCompressSync(Buffer.alloc(2 ** 26))],
    ['zstd', zstdCompressSync(Buffer.alloc(2 ** 26))],
  ])('of %s that would become very large is decoded up to 4 KiB', async (coding, bomb) => {
    const before = process.memoryUsage().rss;
    const bodies = Array.from({ length: 20 }, () => read(bomb, 'text/plain; charset=utf-16le', coding));
    for (const { faulty } of await Promise.all(bodies)) expect(faulty).toBe(false);
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
  });

  test.each<[string, Uint8Array]>([
    ['compress', Buffer.from('x')],
    ['toString', Buffer.from('x')],
    ['gzip', Buffer.from('xyz')],
    ['br', Buffer.from([0xff, 0xff])],
    ['gzip, gzip, gzip, gzip', Buffer.from('x')],
  ])('that cannot be decoded is marked: %s', async (coding, bytes) => {
    expect(await read(bytes, 'text/plain', coding)).toEqual({ text: Buffer.from(bytes).toString(), faulty: true });
  });
});

describe('a body in another character set', () => {
  const utf16 = Buffer.from(TEXT, 'utf16le');
  const latin1 = Buffer.from(TEXT, 'latin1');
  test.each<[string, Uint8Array, string | undefined]>([
    ['ISO-8859-1', latin1, 'text/plain; charset=iso-8859-1'],
    ['a quoted name', latin1, 'text/plain;Charset="ISO-8859-1"'],
    ['UTF-16 with a mark', Buffer.from(`\ufeff${TEXT}`, 'utf16le'), 'text/plain; charset=utf-16'],
    ['UTF-16 with a mark, big-endian', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), undefined],
    ['UTF-16LE', utf16, 'text/plain; charset=utf-16le'],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${TEXT}`), 'text/plain; charset=iso-8859-1'],
    ['an unknown one', Buffer.from(TEXT), 'text/plain; charset=nothing'],
    ['none', Buffer.from(TEXT), undefined],
  ])('is read: %s', async (_, bytes, type) => {
    expect(await textOf(bytes, type)).toBe(TEXT);
  });

  test('is read as HTML and XML name it themselves', async () => {
    const japanese = Buffer.from([0x83, 0x66, 0x81, 0x5b, 0x83, 0x5e]);
    const html = Buffer.concat([Buffer.from('<html><meta charset="Shift_JIS">'), japanese]);
    expect(await textOf(html, 'text/html')).toMatch(/データ$/);
    const xml = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="windows-31j"?>'), japanese]);
    expect(await textOf(xml, 'application/problem+xml')).toMatch(/データ$/);
    expect(await textOf(japanese, 'text/html; charset=Shift_JIS')).toBe('データ');
  });

  test('makes at most 4 KiB of text, without U+0000', async () => {
    const text = await textOf(Buffer.alloc(KEPT_BYTES, 0xe9), 'text/plain; charset=iso-8859-1');
    expect(text).toBe('é'.repeat(KEPT_BYTES / 2));
    expect(await textOf(Buffer.from('a\0b'))).toBe('ab');
  });
});
