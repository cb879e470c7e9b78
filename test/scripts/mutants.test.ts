import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Mutant {
  name: string;
  file: string;
  search: string;
}
const mutants: readonly Mutant[] = JSON.parse(readFileSync('scripts/mutants.json', 'utf8'));

// Three of them had not applied for days, and nothing but their own run said so.
test.each(mutants)('regression: the mutant "$name" applies to its file', ({ file, search }) => {
  expect(readFileSync(file, 'utf8').split(search)).toHaveLength(2);
});
