import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import '../support/quiet-temporal.js';
import { readHistories, recordedVersions, textsOf } from '../support/histories.js';
import { ATTEMPT, otherBuild, replay, thisBuild } from '../support/workflow-builds.js';

// What an earlier release has begun, this one must be able to end: the recorded histories are replayed on its code.

const histories = readHistories();

/** The histories that the code does not agree with, each with what differs. */
const disagreements = (code: string) => replay(code, histories);
const names = (found: readonly string[]) => found.map((line) => line.split(': ')[0]);

describe('the recorded histories', () => {
  it('replay on this code; where not, the change needs patched() (docs/workflow-changes.md)', async () => {
    expect(await disagreements(thisBuild)).toEqual([]);
  });

  it.each([
    ['a wait is left out', 'if (wait > 0)', 'if (false)', ['asleep', 'ladder', 'retry-now']],
    ['the search attribute is not set at the end', 'if (state !== stateAtStart)', 'if (false)', ['exhausted', 'gone']],
    ['a wait comes before each attempt', ATTEMPT, `await $sdk.sleep(1); ${ATTEMPT}`, ['cancelled', 'two-endpoints']],
  ])('do not, by name, where %s', async (_, place, becomes, affected) => {
    const found = names(await disagreements(otherBuild(place, becomes)));
    expect(found).toEqual(expect.arrayContaining(affected.map((path) => expect.stringMatching(`/${path}$`))));
    expect(found).not.toContainEqual(expect.stringMatching('/delivered$'));
  });

  it('are there for the version that package.json names: `npm run histories` records them', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(recordedVersions()).toContain(version);
  });

  it('tell nothing of the machine that they were recorded on, and no secret', () => {
    for (const history of histories) {
      const text = textsOf(history);
      const telling = text.match(/https?:|secret|\b\d+\.\d+\.\d+\.\d+\b|localhost|\/(home|root|tmp|work)\//);
      const hosts = [...text.matchAll(/"host":"([^"]*)"/g)].map(([, host]) => host);
      const others = hosts.filter((host) => !host?.endsWith('.example.com'));
      expect([history.name, telling?.[0], ...others]).toEqual([history.name, undefined]);
    }
  });
});
