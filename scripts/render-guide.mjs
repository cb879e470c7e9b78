// Renders the documents for integrators into the one page that the service serves at /docs/guide, and joins them for
// /docs/guide.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { marked } from 'marked';

const DOCUMENTS = ['guide.md', 'reference.md', 'errors.md'];
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

/** The anchor that GitHub gives to a heading. */
const slug = (heading) =>
  heading
    .replace(/<[^>]*>/g, '')
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

/** The document without comments. */
const read = (name) => readFileSync(path(`../docs/${name}`), 'utf8').replace(/ *<!--.*?-->\n/gs, '');

/** @returns HTML whose headings and error codes have anchors, and in which links between the documents are links within the page */
function render(name) {
  return marked
    .parse(read(name))
    .replaceAll('&#39;', "'") // which the anchors drop
    .replace(/<(h[1-6])>(.*?)<\/\1>/g, (_, tag, text) => `<${tag} id="${slug(text)}">${text}</${tag}>`)
    .replaceAll('<pre>', '<pre tabindex="0">') // so that a reader scrolls it with the keyboard
    .replace(/<tr>\n<td>[\d, ]+<\/td>\n<td>.*<\/td>/g, (row) => row.replaceAll(/<code>(\w+)/g, '<code id="$1">$1'))
    .replace(/href="(\w+)\.md(#[^"]*)?"/g, (_, to, anchor) => `href="${anchor ?? `#${to}`}"`);
}

const parts = DOCUMENTS.map(render);
const contents = parts.map((part) => {
  const [title, ...headings] = [...part.matchAll(/<h[12] id="(.*?)">(.*?)<\/h[12]>/g)];
  const links = headings.map(([, id, text]) => `<a href="#${id}">${text}</a>`);
  return `<nav><b><a href="#${title[1]}">${title[2]}</a></b> ${links.join('\n')}</nav>`;
});
writeFileSync(path('../dist/guide.html'), `${contents.join('\n')}\n<main>${parts.join('\n')}</main>`);

const markdown = DOCUMENTS.map((name) =>
  read(name).replace(/\]\((\w+)\.md(#[^)]*)?\)/g, (_, to, anchor) => `](${anchor ?? `#${to}`})`),
);
writeFileSync(path('../dist/guide.md'), markdown.join('\n'));
