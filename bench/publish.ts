import { readFileSync, writeFileSync } from 'node:fs';
import { type Report, toMarkdown } from './report.js';

// `npm run bench:report -- results.json` writes the tables of a run to bench/results.md.

const HEAD = `# Benchmark results

\`npm run bench:report\` writes this file. [docs/performance.md](../docs/performance.md) explains the scenarios and sums up
the figures.
`;

const [results] = process.argv.slice(2);
if (!results) throw new Error('give the file that `npm run bench -- --json FILE` wrote');
const markdown = toMarkdown(JSON.parse(readFileSync(results, 'utf8')) as Report);
writeFileSync('bench/results.md', `${HEAD}\n${markdown}\n`);
