import { readFileSync } from 'node:fs';
import { isGenuine } from './verify.mjs';

const cases = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const verdict = ({ header, body_base64, secret, now }) =>
  isGenuine(header ?? undefined, Buffer.from(body_base64, 'base64'), secret, now ? Date.parse(now) : undefined);
console.log(JSON.stringify(cases.map(verdict)));
