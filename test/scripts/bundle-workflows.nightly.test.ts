import { expect, test } from '@jest/globals';
import { thisBuild } from '../support/workflow-builds.js';

test('the bundle of the workflows names its files in a source map and does not repeat their sources', () => {
  const [, encoded = ''] = /\/\/# sourceMappingURL=data:[^,]*;base64,(\S+)\s*$/.exec(thisBuild) ?? [];
  const map = JSON.parse(Buffer.from(encoded, 'base64').toString()) as { sources: string[]; mappings: string };
  expect(map.sources).toEqual(expect.arrayContaining([expect.stringMatching(/deliver-event/)]));
  expect(map.mappings).toMatch(/^;*[\w+/]/);
  expect(map).not.toHaveProperty('sourcesContent');
});
