import { describe, expect, it } from '@jest/globals';
import { findUrlError } from '../../src/endpoints/url.js';

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
    ['https:\\\\example.com', 'invalid_url'],
    ['https://example.com\\hooks', 'invalid_url'],
    [' https://example.com', 'invalid_url'],
    ['https://example.com ', 'invalid_url'],
    ['https://example.com/a b', 'invalid_url'],
    ['https://exa\nmple.com', 'invalid_url'],
    ['https://example.com/\0', 'invalid_url'],
    ['https://example.com/\ud800', 'invalid_url'],
    ['https://example.com/\u00a0', 'invalid_url'],
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
    'https://münchen.example/straße',
    'https://xn--mnchen-3ya.example/',
    `https://example.com/${'a'.repeat(2028)}`,
  ])('%s is accepted', (url) => {
    expect(findUrlError(url, production)).toBeUndefined();
  });

  it('may be http: only in the sandbox', () => {
    expect(findUrlError('http://example.com/', sandbox)).toBeUndefined();
    expect(findUrlError('http://example.com/', production)).toMatchObject({ code: 'invalid_scheme' });
  });
});
