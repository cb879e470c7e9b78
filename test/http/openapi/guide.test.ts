import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApi } from '../../support/api.js';

const api = await openApi();
const guide = await api.call('GET', '/docs/guide');

const matches = (pattern: RegExp, text = guide.text) => [...text.matchAll(pattern)].map(([, found = '']) => found);

describe('/docs/guide', () => {
  it('is a page without script, and needs no token', () => {
    expect([guide.status, guide.headers.get('content-type')]).toEqual([200, expect.stringMatching(/^text\/html/)]);
    expect(guide.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-[^']+';/);
    expect(guide.text).not.toMatch(/<script|<link|<img|src=|@import|url\(| style=/i);
  });

  it('has every section of the three documents, each with an anchor of its own', () => {
    const documents = ['guide', 'reference', 'errors'].map((name) =>
      readFileSync(join(import.meta.dirname, `../../../docs/${name}.md`), 'utf8'),
    );
    const anchors = matches(/<h\d id="([^"]*)">/g);
    // In a block of code, `#` begins a comment.
    const headings = documents.flatMap((text) => matches(/^(#+ )/gm, text.replace(/^ *```.*?```$/gms, '')));
    expect(anchors).toHaveLength(headings.length);
    expect(new Set(anchors).size).toBe(anchors.length);
  });

  it('has links that all resolve', async () => {
    const anchors = new Set(matches(/ id="([^"]*)"/g));
    const links = matches(/ href="([^"]*)"/g);
    expect(links.length).toBeGreaterThan(20);
    const base = new URL('/docs/guide', 'https://api.test');
    for (const link of new Set(links)) {
      const { pathname, origin, hash } = new URL(link, base);
      if (pathname === base.pathname) expect([link, anchors.has(hash.slice(1))]).toEqual([link, true]);
      else {
        const { status } = await api.call('GET', pathname);
        expect([link, origin, status < 400]).toEqual([link, base.origin, true]);
      }
    }
  });

  it('is Markdown too, with the same anchors in its links', async () => {
    const { status, headers, text } = await api.call('GET', '/docs/guide.md');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/markdown; charset=utf-8']);
    expect(matches(/^# (.*)$/gm, text.replace(/^ *```.*?```$/gms, ''))).toHaveLength(3);
    expect(text).not.toMatch(/<!--|\.md[#)]/);
    const anchors = new Set(matches(/ id="([^"]*)"/g));
    for (const anchor of matches(/\]\(#([^)]*)\)/g, text))
      expect([anchor, anchors.has(anchor)]).toEqual([anchor, true]);
  });

  it('is what /llms.txt links to, with the other documents', async () => {
    const { status, headers, text } = await api.call('GET', '/llms.txt');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const links = matches(/^- \[.*?\]\(https:\/\/api\.test(.*?)\)/gm, text);
    expect(links).toEqual(expect.arrayContaining(['/docs/guide.md', '/openapi.json']));
    for (const link of links) expect([link, (await api.call('GET', link)).status]).toEqual([link, 200]);
  });
});
