import { createServer } from 'node:http';
import { expect, test } from '@jest/globals';
import { CHECK_CASE_NAMES } from '../../../../clients/typescript/src/check/cases.js';
import { checkReceiver } from '../../../../clients/typescript/src/check/run.js';
import { transferWebhooks } from '../../../../clients/typescript/src/express.js';
import { type Mistake, startCheckedReceiver } from '../../../support/checked-receiver.js';

const SECRET = 'whsec_0123456789abcdef';

async function failedAt(url: string) {
  const { status, cases } = await checkReceiver(new URL(url), Buffer.from(SECRET), AbortSignal.timeout(60_000));
  expect(cases.map(({ name }) => name)).toEqual(CHECK_CASE_NAMES);
  const failed = cases.filter(({ passed }) => !passed);
  expect(status).toBe(failed.length > 0 ? 'failed' : 'passed');
  for (const { hint } of failed) expect(hint).toMatch(/\w/);
  return failed.map(({ name }) => name);
}

// The verdicts are those of the service's check (test/checks/run-case.test.ts).
test.each<[Mistake | undefined, string[]]>([
  [undefined, []],
  ['accepts any signature', ['wrong_secret', 'changed_body']],
  ['redirects', ['valid', 'duplicate', 'out_of_order', 'unknown_type', 'unknown_field']],
])('a receiver that %s', async (mistake, failed) => {
  const receiver = await startCheckedReceiver(SECRET, mistake);
  try {
    expect(await failedAt(receiver.url)).toEqual(failed);
  } finally {
    await receiver.close();
  }
});

test('a receiver of this package passes, and one that is not there fails', async () => {
  const server = createServer(transferWebhooks({ secret: SECRET, onEvent() {} }));
  const url = await new Promise<string>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${Object(server.address()).port}/`)),
  );
  expect(await failedAt(url)).toEqual([]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await failedAt(url)).toEqual(CHECK_CASE_NAMES);
});
