import { TransferServiceClient } from '../client.js';
import { sleep, TIME_IS_UP, withTimeLimit } from '../time-limit.js';
import type { ReceiverCheck } from '../types.js';
import { type Command, count, UsageError } from './command.js';
import { CREDENTIALS, CREDENTIALS_HELP, readCredentials } from './credentials.js';
import { harmless, harmlessJson } from './harmless.js';

const POLL = 1_000;

export const check: Command = {
  summary: "check that an endpoint's receiver accepts genuine requests and rejects forged ones (sandbox)",
  usage: 'ENDPOINT [options]',
  help: `The service sends nine requests to the endpoint's URL. Exits with 0 if every case passed, and with 1 if one failed.

  ENDPOINT             the webhookId of a registered endpoint
  --timeout SECONDS    how long to wait, 1 to 600 (300)
  --json               print one JSON document
${CREDENTIALS_HELP}`,
  options: { ...CREDENTIALS, timeout: { type: 'string' }, json: { type: 'boolean' } },
  positionals: 1,
  async run(given) {
    const { values, signal, print } = given;
    const seconds = count(values, 'timeout', { byDefault: 300, most: 600 });
    const [endpoint] = given.positionals;
    if (!endpoint) throw new UsageError('give the webhookId of an endpoint');
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
      if (values.json) print(harmlessJson(result));
      else for (const line of describe(result)) print(harmless(line));
      return result.status === 'passed' ? 0 : 1;
    } catch (error) {
      if (error !== TIME_IS_UP) throw error;
      given.warn(`the check ${id} still runs after ${seconds} s`);
      return 1;
    }
  },
};

function describe({ status, cases }: ReceiverCheck): string[] {
  const lines = cases.map(({ name, expected, response_status, error, passed, hint }) => {
    const answer = response_status ?? error ?? 'no response';
    return `${passed ? 'passed' : 'FAILED'} ${name}: ${answer}${passed ? '' : `, expected ${expected}`}${hint ? `. ${hint}` : ''}`;
  });
  return [...lines, `the receiver has ${status} the check`];
}
