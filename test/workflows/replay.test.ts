import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import '../support/quiet-temporal.js';
import { readHistories, recordedVersions, textsOf } from '../support/histories.js';
import { ATTEMPT, otherBuild, replay, thisBuild, WAIT } from '../support/workflow-builds.js';

// This release must be able to end workflows that an earlier release has begun. The test replays recorded histories.

const histories = readHistories();

/** The histories that fail to replay on the code, each with the difference. */
const disagreements = (code: string) => replay(code, histories);
const names = (found: readonly string[]) => found.map((line) => line.split(': ')[0]);

describe('the recorded histories', () => {
  it('replay on this code; otherwise the change needs patched() (docs/workflow-changes.md)', async () => {
    expect(await disagreements(thisBuild)).toEqual([]);
  });

  it.each([
    ['a wait is left out', WAIT, WAIT.replace('wait > 0', 'false'), ['asleep', 'ladder', 'woken']],
    ['the search attribute is not set at the end', 'if (state !== stateAtStart)', 'if (false)', ['exhausted', 'gone']],
    [
      'a wait comes before each attempt',
      ATTEMPT,
      `await $sdk.sleep(1); ${ATTEMPT}`,
      ['cancelled', 'retried', 'two-endpoints'],
    ],
  ])('fail to replay, by name, when %s', async (_, code, replacement, affected) => {
    const found = names(await disagreements(otherBuild(code, replacement)));
    expect(found).toEqual(expect.arrayContaining(affected.map((path) => expect.stringMatching(`/${path}$`))));
    expect(found).not.toContainEqual(expect.stringMatching('/delivered$'));
  });

  it('exist for the version in package.json: `npm run histories` records them', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(recordedVersions()).toContain(version);
  });

  it('contain no secret and no trace of the recording machine', () => {
    for (const history of histories) {
      const text = textsOf(history);
      // `wrong_secret` is the name of a case of a check.
      const telling = text.match(/https?:|(?<!wrong_)secret|\b\d+\.\d+\.\d+\.\d+\b|localhost|\/(home|root|tmp|work)\//);
      const hosts = [...text.matchAll(/"host":"([^"]*)"/g)].map(([, host]) => host);
      const others = hosts.filter((host) => !host?.endsWith('.example.com'));
      expect([history.name, telling?.[0], ...others]).toEqual([history.name, undefined]);
    }
  });
});
