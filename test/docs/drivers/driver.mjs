import { readFileSync } from 'node:fs';
import { isGenuine } from './verify.mjs';

const cases = JSON.parse(readFileSync(process.argv[2], 'utf8'));
console.log(
  JSON.stringify(cases.map(({ header, body, secret }) => isGenuine(header ?? undefined, Buffer.from(body), secret))),
);
