import { expect, it } from '@jest/globals';
import { StatementNames } from '../../../src/platform/database/database.js';

it('gives a statement a further name whenever its runs have doubled, and the last one after 4,096 runs', () => {
  const names = new StatementNames();
  names.add('select 1');
  const given = Array.from({ length: 20_000 }, () => names.next('select 1'));
  const firstRuns = [...new Set(given)].map((name) => given.indexOf(name) + 1);
  expect(firstRuns).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
});

it('never gives two statements the same name', () => {
  const names = new StatementNames();
  const texts = ['select 1', 'select 2', 'select 3'];
  for (const text of [...texts, ...texts]) names.add(text);
  const given = texts.map((text) => new Set(Array.from({ length: 100 }, () => names.next(text))));
  expect(new Set(given.flatMap((own) => [...own])).size).toBe(given.reduce((sum, own) => sum + own.size, 0));
});

it('gives no name to a statement that was not added, such as a query of a model', () => {
  expect(new StatementNames().next('select 1')).toBe('');
});
