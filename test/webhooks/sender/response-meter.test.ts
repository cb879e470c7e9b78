import fc from 'fast-check';
import {
  MAX_BODY_BYTES,
  MAX_HEAD_BYTES,
  MAX_INFORMATIONAL,
  type Passed,
  ResponseMeter,
} from '../../../src/webhooks/sender/response-meter.js';

const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const HINT = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';

/** The text that passes of these chunks, up to the chunk that exceeds a limit. */
function passed(
  chunks: readonly (string | Buffer)[],
  meter = new ResponseMeter(),
): { text: string; exceeded: boolean } {
  let text = '';
  for (const chunk of chunks) {
    const { bytes, exceeded }: Passed = meter.pass(Buffer.from(chunk as string, 'latin1'));
    text += bytes.toString('latin1');
    if (exceeded) return { text, exceeded };
  }
  return { text, exceeded: false };
}

const headOf = (size: number) => `HTTP/1.1 200 ${'x'.repeat(size - 'HTTP/1.1 200 \r\n\r\n'.length)}\r\n\r\n`;
const hints = (count: number) => HINT.repeat(count);

test.each<[string, string, string, boolean]>([
  ['a response passes unchanged', `${HEAD}5\r\nhello\r\n0\r\n\r\n`, `${HEAD}5\r\nhello\r\n0\r\n\r\n`, false],
  ['informational responses are removed', `${hints(8)}${HEAD}0\r\n\r\n`, `${HEAD}0\r\n\r\n`, false],
  ['a 100 is removed', `HTTP/1.1 100 Continue\r\n\r\n${HEAD}`, HEAD, false],
  ['the ninth informational response exceeds the limit', `${hints(9)}${HEAD}`, '', true],
  ['a 101 is refused', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', '', true],
  ['bytes that are not HTTP pass at once', 'SSH', 'SSH', false],
  ['bytes that may begin an informational response are held', 'HTTP/1.1 1', '', false],
  ['empty lines before a head are removed', `\r\n\r\n${HEAD}`, HEAD, false],
  ['empty lines without end exceed the limit', '\r\n'.repeat(MAX_HEAD_BYTES / 2 + 1), '', true],
  ['a head of 16 KiB passes', headOf(MAX_HEAD_BYTES), headOf(MAX_HEAD_BYTES), false],
  ['a head of one byte more exceeds the limit', headOf(MAX_HEAD_BYTES + 1), '', true],
  ['an informational head may have 16 KiB too', headOf(MAX_HEAD_BYTES).replace('200', '102') + HEAD, HEAD, false],
  [
    'an informational head of one byte more exceeds the limit',
    headOf(MAX_HEAD_BYTES + 1).replace('200', '102') + HEAD,
    '',
    true,
  ],
])('%s', (_, bytes, text, exceeded) => {
  expect(passed([bytes])).toEqual({ text, exceeded });
});

test('64 KiB of any bytes pass after the head, and not a byte more', () => {
  const body = 'x'.repeat(MAX_BODY_BYTES);
  expect(passed([HEAD, body])).toEqual({ text: HEAD + body, exceeded: false });
  expect(passed([`${HEAD}${body}y`])).toEqual({ text: HEAD + body, exceeded: true });
  expect(passed([`${HEAD}x`, body])).toEqual({ text: HEAD + body, exceeded: true });
});

test('the limits apply to each response', () => {
  const meter = new ResponseMeter();
  const response = `${hints(MAX_INFORMATIONAL)}${HEAD}${'x'.repeat(MAX_BODY_BYTES)}`;
  expect(passed([response], meter).exceeded).toBe(false);
  meter.beginResponse();
  expect(passed([response], meter).exceeded).toBe(false);
  expect(passed(['x'], meter).exceeded).toBe(true);
});

test('the result does not depend on how the bytes are cut into chunks', () => {
  const responses = [
    `${hints(3)}\r\n${HEAD}5\r\nhello\r\n0\r\n\r\n`,
    `HTTP/1.0 100 x\r\n\r\n${headOf(MAX_HEAD_BYTES)}abc`,
    `${hints(9)}${HEAD}`,
    headOf(MAX_HEAD_BYTES + 1),
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...responses),
      fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 40 }),
      (response, sizes) => {
        const chunks: string[] = [];
        let at = 0;
        for (const size of sizes) {
          chunks.push(response.slice(at, at + size));
          at += size;
        }
        const whole = passed([response]);
        const cut = passed([...chunks.filter(Boolean), ...(at < response.length ? [response.slice(at)] : [])]);
        expect(cut.exceeded).toBe(whole.exceeded);
        // The first chunks of a head that is too large pass before its size is known.
        if (!whole.exceeded) expect(cut.text).toBe(whole.text);
      },
    ),
  );
  for (const response of responses) expect(passed([...response]).exceeded).toBe(passed([response]).exceeded);
  expect(passed([...(responses[0] ?? '')]).text).toBe(passed([responses[0] ?? '']).text);
});
