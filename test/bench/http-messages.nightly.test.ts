import { HttpMessages } from '../../bench/http-messages.js';

const REQUESTS =
  'POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab\r\n\r' +
  'GET /b HTTP/1.1\r\nHost: x\r\n\r\n' +
  'POST /c HTTP/1.1\r\ncontent-length:3\r\n\r\nxyz';

function cut(pieces: Buffer[]): [string, string][] {
  const found: [string, string][] = [];
  const messages = new HttpMessages((head, body) => found.push([head.split(' ')[1] ?? '', body.toString()]));
  for (const piece of pieces) messages.feed(piece);
  return found;
}

describe('HTTP messages of the bench', () => {
  const whole = Buffer.from(REQUESTS);
  const expected = [
    ['/a', 'ab\r\n\r'],
    ['/b', ''],
    ['/c', 'xyz'],
  ];

  it('are found in chunks of any size', () => {
    for (let size = 1; size <= whole.length; size++) {
      const pieces = [];
      for (let at = 0; at < whole.length; at += size) pieces.push(whole.subarray(at, at + size));
      expect(cut(pieces)).toEqual(expected);
    }
  });

  it('are not reported before they are complete', () => {
    expect(cut([whole.subarray(0, whole.length - 1)])).toEqual(expected.slice(0, 2));
  });

  it('are rejected if they are framed in another way', () => {
    const chunked = Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n');
    expect(() => cut([chunked])).toThrow('Transfer-Encoding');
  });
});
