import { readFileSync, writeFileSync } from 'node:fs';
import { type Report, toMarkdown } from './report.js';

// `npm run bench:report -- results.json [docs/performance.md]`: prints the report, or puts it into its place in a
// document.

const BEGIN = '<!-- bench: results -->';
const END = '<!-- bench: end -->';

const [results, document] = process.argv.slice(2);
if (!results) throw new Error('give the file that `npm run bench -- --json FILE` wrote');
const markdown = toMarkdown(JSON.parse(readFileSync(results, 'utf8')) as Report);
if (document) {
  const text = readFileSync(document, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`${document} has no place for it: ${BEGIN} … ${END}`);
  writeFileSync(document, `${text.slice(0, begin + BEGIN.length)}\n\n${markdown}\n\n${text.slice(end)}`);
} else {
  console.log(markdown);
}
