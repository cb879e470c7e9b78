import { keepHeaders } from '../../../src/webhooks/sender/kept-headers.js';

describe('keepHeaders', () => {
  it('keeps the eight headers of the contract, in lower case, and no other', () => {
    const kept = {
      'content-type': 'text/plain',
      'retry-after': '120',
      date: 'Sun, 22 Nov 2026 04:00:00 GMT',
      server: 'nginx',
      location: 'https://example.com/elsewhere',
      via: '1.1 proxy',
      'x-request-id': 'abc',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    expect(keepHeaders({ ...kept, 'set-cookie': 'session=1', authorization: 'x', 'www-authenticate': 'y' })).toEqual(
      kept,
    );
    expect(keepHeaders({})).toEqual({});
  });

  it('joins a repeated header, cuts a value at 256 characters and removes control characters', () => {
    const kept = keepHeaders({ via: ['a', 'b'], server: 'x'.repeat(300), date: 'a\u0000b\u001b[31mc\u0085d\u007f' });
    expect(kept).toEqual({ via: 'a, b', server: 'x'.repeat(256), date: 'ab[31mcd' });
  });

  it('cuts no character in half: Postgres would refuse the record', () => {
    expect(keepHeaders({ server: `${'x'.repeat(255)}😀😀` })).toEqual({ server: `${'x'.repeat(255)}😀` });
  });

  it.each([
    ['https://user:password@example.com/a?token=1#b', 'https://example.com/a'],
    ['https://user:p@ss@example.com/a', 'https://example.com/a'],
    ['//user@example.com/a', '//example.com/a'],
    ['https:\\\\user@example.com/a', 'https:\\\\example.com/a'],
    ['/login?next=/a', '/login'],
    ['https://example.com/@name', 'https://example.com/@name'],
    ['#only', ''],
  ])('shows the location %s as %s', (location, shown) => {
    expect(keepHeaders({ location })).toEqual({ location: shown });
  });
});
