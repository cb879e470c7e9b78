import type { Writable } from 'node:stream';
import zlib from 'node:zlib';
import pLimit from 'p-limit';

/** Bytes of a response's body that are kept, compressed and not, and of the text that they make. */
export const KEPT_BYTES = 4 * 1024;

/** How the receiver describes its body. */
export interface Described {
  contentType: string | undefined;
  contentEncoding: string | undefined;
}

/** The first bytes of a body as text; `faulty` if its content coding cannot be decoded. */
export interface ResponseText {
  text: string;
  faulty: boolean;
}

/**
 * The text of the first bytes of a body: without its content codings, and from its character set, UTF-8 by default,
 * with replacement characters. U+0000 is removed, since Postgres does not accept it.
 */
export function responseText(body: Buffer, described: Described): ResponseText | Promise<ResponseText> {
  const { contentType = '', contentEncoding = '' } = described;
  const codings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  if (codings.length === 0) return { text: decode(body.subarray(0, KEPT_BYTES), contentType), faulty: false };
  return inflating(() => inflate(body, codings)).then(
    (content) => ({ text: decode(content, contentType), faulty: false }),
    () => ({ text: decode(body.subarray(0, KEPT_BYTES), ''), faulty: true }),
  );
}

/** Limits the memory of decoders: each may need a window of 16 MiB, whatever the size of its input. */
const inflating = pLimit(4);
const MAX_CODINGS = 3;
/** A gzip without content has 20 bytes, and a few more with the name of a file. */
const MOST_OF_NOTHING = 300;
const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush, ZSTD_d_windowLogMax } = zlib.constants;
/** Of a body that was cut, decoders output all they can. Each chunk of output is as long as what is kept. */
const [DEFLATE, BROTLI, ZSTD] = [Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH, ZSTD_e_flush].map((finishFlush) => ({
  finishFlush,
  chunkSize: KEPT_BYTES,
}));
const gunzip = () => zlib.createGunzip(DEFLATE);

const DECODERS: Readonly<Record<string, (input: Buffer) => AsyncIterable<Buffer> & Writable>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  // The zlib format; some servers send it without the header of that format (RFC 9110, section 8.4.1.2).
  deflate: ([first = 0]) => ((first & 0x0f) === 8 ? zlib.createInflate(DEFLATE) : zlib.createInflateRaw(DEFLATE)),
  br: () => zlib.createBrotliDecompress(BROTLI),
  zstd: () => zlib.createZstdDecompress({ ...ZSTD, params: { [ZSTD_d_windowLogMax]: 24 } }),
};

/** @throws if a coding is unknown or the body does not have it */
async function inflate(body: Buffer, codings: readonly string[]): Promise<Buffer> {
  if (codings.length > MAX_CODINGS) throw new Error('too many codings');
  let content = body;
  for (const coding of codings.toReversed()) content = await firstOutput(coding, content);
  if (content.length === 0 && body.length > MOST_OF_NOTHING) throw new Error('too little of it arrived');
  return content;
}

/** The first `KEPT_BYTES` that the decoder outputs. It decodes no more, however much the input would become. */
async function firstOutput(coding: string, input: Buffer): Promise<Buffer> {
  const make = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (!make) throw new Error('unknown coding');
  const decoder = make(input);
  const output: Buffer[] = [];
  let length = 0;
  decoder.end(input);
  try {
    for await (const chunk of decoder) {
      output.push(chunk);
      length += chunk.length;
      if (length >= KEPT_BYTES) break;
    }
  } catch (error) {
    // What came before a fault is readable.
    if (length === 0) throw error;
  }
  return Buffer.concat(output).subarray(0, KEPT_BYTES);
}

/** Bytes at whose start a document names its character set (WHATWG, prescan). */
const PRESCAN_BYTES = 1024;

function decode(body: Buffer, contentType: string): string {
  const decoder = decoderOf(body, contentType);
  const text = decoder.decode(body).replaceAll('\0', '');
  if (decoder.encoding === 'utf-8' || Buffer.byteLength(text) <= KEPT_BYTES) return text;
  return Buffer.from(text)
    .subarray(0, KEPT_BYTES)
    .toString()
    .replace(/\ufffd$/, '');
}

/** A byte order mark decides, then the charset of the head, then what HTML or XML says of itself. */
function decoderOf(body: Buffer, contentType: string): TextDecoder {
  const [first, second] = body;
  if (first === 0xff && second === 0xfe) return new TextDecoder('utf-16le');
  if (first === 0xfe && second === 0xff) return new TextDecoder('utf-16be');
  if (body.subarray(0, 3).toString('hex') === 'efbbbf') return new TextDecoder();
  const label = /;\s*charset\s*=\s*["']?([\w.:-]+)/i.exec(contentType)?.[1] ?? labelWithin(body, contentType);
  try {
    return new TextDecoder(label);
  } catch {
    return new TextDecoder();
  }
}

function labelWithin(body: Buffer, contentType: string): string | undefined {
  if (!/\b(?:html|xml)\b/i.test(contentType)) return undefined;
  const start = body.toString('latin1', 0, PRESCAN_BYTES);
  const [, label] =
    /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/.exec(start) ??
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)/i.exec(start) ??
    [];
  // A document that says so in single bytes is not UTF-16.
  return label && /^utf-?16/i.test(label) ? undefined : label;
}
