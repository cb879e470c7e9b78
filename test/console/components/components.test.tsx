import { describe, expect, it } from '@jest/globals';
import { render } from 'preact-render-to-string';
import { Pager, readTime } from '../../../src/console/components/lists.js';
import { formatJson, Untrusted, UntrustedLines } from '../../../src/console/components/values.js';
import { Refusal } from '../../../src/platform/refusal.js';

describe('pager', () => {
  const pager = (query: string, nextCursor: string | null) =>
    render(<Pager path="/console/events" query={new URLSearchParams(query)} nextCursor={nextCursor} />);

  it('keeps the filters on the way to the next page and back to the start', () => {
    const html = pager('type=a%26b&transfer_id=&cursor=old', 'new');
    expect(html).toContain('href="/console/events?type=a%26b"');
    expect(html).toContain('href="/console/events?type=a%26b&amp;cursor=new"');
  });
});

it.each([
  ['2026-11-22', '2026-11-22T00:00:00.000Z'],
  ['2026-11-22T06:14', '2026-11-22T06:14:00.000Z'],
  [' 2026-11-22 06:14:03 utc', '2026-11-22T06:14:03.000Z'],
  ['2026-11-22T06:14:03.5+01:00', '2026-11-22T05:14:03.500Z'],
  ['2026-11-31 06:14', undefined],
  ['0000-01-01', undefined],
  ['0001-01-01T00:00+01:00', undefined],
  ['9999-12-31T23:59:59-01:00', undefined],
  ['yesterday', undefined],
])('reads %s as %s, in UTC unless it names a zone', (text, time) => {
  const read = () => readTime(new URLSearchParams({ since: text }), 'since', 0);
  if (time === undefined) expect(read).toThrow(Refusal);
  else expect(read()).toBe(time);
});

it.each([
  ['2 h', '2026-11-22T04:14:00.000Z'],
  ['90min', '2026-11-22T04:44:00.000Z'],
  ['7 days', '2026-11-15T06:14:00.000Z'],
  ['06:10', '2026-11-22T06:10:00.000Z'],
  ['15:16', '2026-11-21T15:16:00.000Z'],
])('reads %s as a time shortly before now', (text, time) => {
  const now = Date.parse('2026-11-22T06:14:00Z');
  expect(readTime(new URLSearchParams({ since: text }), 'since', now)).toBe(time);
});

describe('untrusted text', () => {
  const shown = (text: string) => render(<Untrusted text={text} />);

  it('escapes markup and makes no link', () => {
    const html = shown('<script>alert(1)</script> https://example.com "\'&');
    expect(html).not.toMatch(/<script|<a /);
    expect(html).toContain('&lt;script>alert(1)&lt;/script> https://example.com &quot;');
  });

  it.each([
    ['\u0001', 'U+0001'],
    ['\u007f', 'U+007F'],
    ['\u202e', 'U+202E'],
    ['\u200b', 'U+200B'],
    ['\u2028', 'U+2028'],
    ['\ufeff', 'U+FEFF'],
    ['\ud800', 'U+D800'],
    ['\n\t', 'U+000A U+0009'],
  ])('makes %j visible', (unseen, picture) => {
    expect(shown(`a${unseen}b`)).toBe(`<bdi class="untrusted">a<span class="unseen">${picture}</span>b</bdi>`);
  });

  it('keeps lines and tabs in a box, and joiners everywhere', () => {
    expect(render(<UntrustedLines label="Body" text={'a\n\tb\r'} />)).toContain(
      '<bdi class="untrusted">a\n\tb<span class="unseen">U+000D</span></bdi>',
    );
    expect(shown('\u{1f469}\u200d\u{1f4bb}')).toContain('\u{1f469}\u200d\u{1f4bb}');
  });

  it('shows 4 KiB of one control character by its count', () => {
    const html = shown('\u0001'.repeat(4_096));
    expect(html).toBe('<bdi class="untrusted"><span class="unseen">U+0001×4096</span></bdi>');
  });
});

describe('JSON', () => {
  it.each([
    '{"n":12345678901234567890}',
    '{"n":1.0}',
    '{"n":1,"n":2}',
    '{ "n": 1 }',
    '"text"',
    '<h1>down</h1>',
    '{"cut off',
    '',
  ])('stays as it is if laying it out would lose something: %s', (text) => {
    expect(formatJson(text)).toBe(text);
  });

  it('is not laid out if its depth would make the page large', () => {
    const text = '['.repeat(2_000) + ']'.repeat(2_000);
    expect(formatJson(text)).toBe(text);
    // Brackets in a string are none.
    const hidden = `["${']'.repeat(2_000)}",${text}]`;
    expect(formatJson(hidden)).toBe(hidden);
  });
});
