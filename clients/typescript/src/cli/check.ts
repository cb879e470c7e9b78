import { checkReceiver } from '../check/run.js';
import { TransferServiceClient } from '../client.js';
import { sleep, TIME_IS_UP, withTimeLimit } from '../time-limit.js';
import type { ReceiverCheck } from '../types.js';
import { type Command, count, type Given, required, UsageError } from './command.js';
import { CREDENTIALS, CREDENTIALS_HELP, readCredentials } from './credentials.js';
import { harmless, harmlessJson } from './harmless.js';
import { readSecretFile } from './secret-file.js';

const POLL = 1_000;

export const check: Command = {
  summary: 'check that a receiver accepts genuine requests and rejects forged ones',
  usage: 'URL --secret-file FILE [--standard] [--json] | ENDPOINT [options]',
  help: `Nine requests are sent to the receiver. Exits with 0 if every case passed, and with 1 if one failed.

  URL                  the receiver, to which this command sends the requests itself, for example in CI
  --secret-file FILE   the receiver's secret (one trailing line break is ignored)
  --standard           sign by Standard Webhooks too

  ENDPOINT             the webhookId of a registered endpoint, to which the service sends them (sandbox)
  --timeout SECONDS    how long to wait, 1 to 600 (300)
  --json               print one JSON document
${CREDENTIALS_HELP}`,
  options: {
    ...CREDENTIALS,
    'secret-file': { type: 'string' },
    standard: { type: 'boolean' },
    timeout: { type: 'string' },
    json: { type: 'boolean' },
  },
  positionals: 1,
  async run(given) {
    const { values, signal } = given;
    const seconds = count(values, 'timeout', { byDefault: 300, most: 600 });
    const [endpoint] = given.positionals;
    if (!endpoint) throw new UsageError('give the URL of a receiver, or the webhookId of an endpoint');
    if (endpoint.includes(':')) return checkUrl(endpoint, given);
    const client = new TransferServiceClient(await readCredentials(given));
    const { id } = await client.webhookEndpoints.check(endpoint, { signal });
    try {
      const result = await withTimeLimit(seconds * 1_000, signal, async (limited) => {
        for (;;) {
          const present = await client.webhookEndpoints.getCheck(endpoint, id, { signal: limited });
          if (present.status !== 'running') return present;
          await sleep(POLL, limited);
        }
      });
      return report(result, given);
    } catch (error) {
      if (error !== TIME_IS_UP) throw error;
      given.warn(`the check ${id} still runs after ${seconds} s`);
      return 1;
    }
  },
};

async function checkUrl(text: string, given: Given): Promise<number> {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new UsageError('the receiver must be a URL such as http://localhost:4000/hooks, without a password');
  }
  const secret = await readSecretFile(required(given.values, 'secret-file'));
  return report(await checkReceiver(url, secret, given.signal, given.values.standard === true), given);
}

type Report = Pick<ReceiverCheck, 'status'> & {
  cases: readonly Pick<
    ReceiverCheck['cases'][number],
    'name' | 'expected' | 'response_status' | 'error' | 'passed' | 'hint'
  >[];
};

/** Prints a report. @returns the exit code */
export function report(result: Report, { values, print }: Given): number {
  if (values.json) print(harmlessJson(result));
  else for (const line of describe(result)) print(harmless(line));
  return result.status === 'passed' ? 0 : 1;
}

function describe({ status, cases }: Report): string[] {
  const lines = cases.map(({ name, expected, response_status, error, passed, hint }) => {
    const answer = response_status ?? error ?? 'no response';
    return `${passed ? 'passed' : 'FAILED'} ${name}: ${answer}${passed ? '' : `, expected ${expected}`}${hint ? `. ${hint}` : ''}`;
  });
  return [...lines, `the receiver has ${status} the check`];
}
