import { render } from 'preact-render-to-string';
import { Untrusted, UntrustedLines, visibleText } from '../../../src/console/components/untrusted.js';

const shown = (text: string) => render(<Untrusted text={text} />);

it('escapes markup and makes no link', () => {
  const html = shown('<script>alert(1)</script> https://example.com "\'&');
  expect(html).not.toMatch(/<script|<a /);
  expect(html).toContain('&lt;script>alert(1)&lt;/script> https://example.com &quot;');
});

it.each([
  ['\u0001', 'U+0001'],
  ['\u007f', 'U+007F'],
  ['\u0085', 'U+0085'],
  ['\u202e', 'U+202E'],
  ['\u2066', 'U+2066'],
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

it('makes unseen characters visible in a plain text too', () => {
  expect(visibleText('a\u202eb\u0001\u0001')).toBe('a[U+202E]b[U+0001×2]');
});
