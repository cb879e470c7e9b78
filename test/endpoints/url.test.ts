import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findUrlError } from '../../src/endpoints/url.js';
import { requestTarget } from '../../src/platform/receiver-url.js';

const blocksLiteral = (hostname: string) => hostname === '10.0.0.1' || hostname === '[::1]';
const sandbox = { httpsOnly: false, blocksLiteral };
const production = { httpsOnly: true, blocksLiteral };

describe('the URL of an endpoint', () => {
  it.each([
    ['', 'invalid_url'],
    [' ', 'invalid_url'],
    ['example.com', 'invalid_url'],
    ['/hooks', 'invalid_url'],
    ['//example.com/hooks', 'invalid_url'],
    ['https:', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https:///hooks', 'invalid_url'],
    ['https:example.com', 'invalid_url'],
    ['https:/example.com', 'invalid_url'],
    ['https://example.com/\ud800', 'invalid_url'],
    ['https://exa mple.com/', 'invalid_url'],
    [' ftp://example.com/a b', 'invalid_scheme'],
    ['https:\\\\user@example.com', 'credentials'],
    ['http://10.0.0.1/a b', 'blocked_address'],
    [`https://example.com/${'é'.repeat(350)}`, 'too_long'],
    ['https://?a=b', 'invalid_url'],
    ['https://#', 'invalid_url'],
    ['https://:443/', 'invalid_url'],
    ['https://example.com:0/', 'invalid_url'],
    ['https://example.com:65536/', 'invalid_url'],
    ['https://example.com:https/', 'invalid_url'],
    ['https://1.2.3.4.5/', 'invalid_url'],
    ['https://256.256.256.256/', 'invalid_url'],
    ['https://[::1', 'invalid_url'],
    ['https://[fe80::1%25eth0]/', 'invalid_url'],
    ['https://exa%00mple.com/', 'invalid_url'],
    ['https://a..b/', 'invalid_url'],
    ['https://-example.com/', 'invalid_url'],
    ['https://*.example.com/', 'invalid_url'],
    [`https://${'a'.repeat(64)}.com/`, 'invalid_url'],
    [`https://${'a.'.repeat(127)}com/`, 'invalid_url'],
    ['ftp://example.com/', 'invalid_scheme'],
    ['file:///etc/passwd', 'invalid_scheme'],
    ['javascript:alert(1)', 'invalid_scheme'],
    ['ws://example.com/', 'invalid_scheme'],
    ['data:text/plain,x', 'invalid_scheme'],
    ['https://user@example.com/', 'credentials'],
    ['https://user:password@example.com/', 'credentials'],
    ['https://@example.com/', 'credentials'],
    ['https://:@example.com/', 'credentials'],
    ['https://example.com/#top', 'fragment'],
    ['https://example.com/#', 'fragment'],
    [`https://example.com/${'a'.repeat(2029)}`, 'too_long'],
    ['http://10.0.0.1/', 'blocked_address'],
    ['https://0x0a000001/', 'blocked_address'],
    ['https://167772161/', 'blocked_address'],
    ['https://[::1]:8443/', 'blocked_address'],
  ])('%j is refused: %s', (url, code) => {
    expect(findUrlError(url, sandbox)).toMatchObject({ pointer: '/url', code });
    expect(findUrlError(url, production)?.pointer).toBe('/url');
  });

  it.each([
    'https://example.com',
    'https://example.com/hooks?token=a%20b&c=@d',
    'HTTPS://EXAMPLE.COM/@x',
    'https://example.com.:8443/',
    'https://localhost:3000/hooks',
    'https://my_service.internal/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://münchen.example/',
    "https://example.com/it's?$filter=name%20eq%20'x'",
    'https://example.com?',
    'https://example.com/?',
    'https://example.com?a=/b?c:@!$&()*+,;=-._~',
    'https://example.com/a%2fb%2F%7e/..a/.../a..;b/c.',
    'https://example.com/a//b/?x=/../',
    'https://xn--mnchen-3ya.example/',
    `https://example.com/${'a'.repeat(2028)}`,
  ])('%s is accepted', (url) => {
    expect(findUrlError(url, production)).toBeUndefined();
  });

  it.each([
    ['https://example.com/a b', 'https://example.com/a%20b'],
    [' https://example.com/ ', 'https://example.com/'],
    ['https://example.com/a/./b/../c/', 'https://example.com/a/c/'],
    ['https://example.com/a/%2E/b/.%2e/%2E%2e', 'https://example.com/'],
    ['https://example.com/..?', 'https://example.com/?'],
    ['https://example.com\\hooks\\a?b\\c', 'https://example.com/hooks/a?b%5Cc'],
    ['https:\\\\example.com', 'https://example.com'],
    ['https://example.com/{a}|"<b>^`[0]', 'https://example.com/%7Ba%7D%7C%22%3Cb%3E%5E%60%5B0%5D'],
    ['https://example.com?{a}|"<b>^`[]=', 'https://example.com?%7Ba%7D%7C%22%3Cb%3E%5E%60%5B%5D='],
    ["https://EXAMPLE.com:443/100%?it's 5% or %zz%4", "https://EXAMPLE.com:443/100%25?it's%205%25%20or%20%25zz%254"],
    ['https://münchen.example./straße?ß=東京', 'https://münchen.example./stra%C3%9Fe?%C3%9F=%E6%9D%B1%E4%BA%AC'],
    ['https://example.com/\u00a0\u017f\u212a', 'https://example.com/%C2%A0%C5%BF%E2%84%AA'],
    ['https://exa\nmple.com/a\tb', 'https://example.com/ab'],
    ['https://example.com/a\0b\x7f/', 'https://example.com/a%00b%7F/'],
  ])('%j is not canonical: %s', (url, canonical) => {
    expect(findUrlError(url, production)).toMatchObject({
      code: 'url_not_canonical',
      detail: `is not canonical; register it as ${canonical}`,
    });
    expect(findUrlError(canonical, production)).toBeUndefined();
  });

  it('is sent byte for byte once it is accepted, and a canonical form is accepted', () => {
    const pieces = fc.oneof(
      fc.constantFrom(..."/,.,..,%2e,%,?,',\\,\t,{,[,|,//,a,%41,é,\u017f, ".split(',')),
      fc.string({ unit: 'binary', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 20 }), (parts) => {
        const url = `https://example.com/${parts.join('')}`;
        const error = findUrlError(url, production);
        if (error?.code === 'url_not_canonical') {
          const [canonical = ''] = /https:.*$/s.exec(error.detail) ?? [];
          expect(findUrlError(canonical, production)).toBeUndefined();
        } else if (!error) expect(requestTarget(url)).toEqual({ origin: 'https://example.com', path: url.slice(19) });
        else expect(['fragment', 'invalid_url']).toContain(error.code);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is sent as the URL standard writes it if it is from before the canonical form', () => {
    expect(requestTarget("https://example.com/a/./b\\c?x y'")).toEqual({
      origin: 'https://example.com',
      path: '/a/b/c?x%20y%27',
    });
  });

  it('may be http: only in the sandbox', () => {
    expect(findUrlError('http://example.com/', sandbox)).toBeUndefined();
    expect(findUrlError('http://example.com/', production)).toMatchObject({ code: 'invalid_scheme' });
  });
});
