import { readFileSync, writeFileSync } from 'node:fs';
import { type Report, toMarkdown } from './report.js';

// `npm run bench:report -- results.json …` writes the tables of the runs to bench/results.md.

const HEAD = `# Benchmark results

\`npm run bench:report\` writes this file. [docs/performance.md](../docs/performance.md) explains the scenarios and sums up
the figures.
`;

const files = process.argv.slice(2);
if (files.length === 0) throw new Error('give the files that `npm run bench -- --json FILE` wrote');
const reports = files.map((file) => toMarkdown(JSON.parse(readFileSync(file, 'utf8')) as Report));
writeFileSync('bench/results.md', `${[HEAD, ...reports].join('\n')}\n`);
