import { expect, it } from '@jest/globals';
import { namesOf } from '../../../../src/console/pages/endpoints/endpoint.js';
import { newId } from '../../../../src/platform/ids.js';

it('reads each endpoint a fixed number of times, however many there are', () => {
  let reads = 0;
  const endpoints = Array.from({ length: 100 }, (_, index) => ({
    webhookId: newId(),
    url: 'https://a.example',
    get description() {
      reads += 1;
      return index < 2 ? 'same' : `${index}`;
    },
  }));
  const names = [...namesOf(endpoints).values()];
  expect(names.slice(0, 3)).toEqual([
    expect.stringMatching(/^same \(registered /),
    expect.stringMatching(/^same \(registered /),
    '2',
  ]);
  expect(reads).toBeLessThan(500);
});
