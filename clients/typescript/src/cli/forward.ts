import { checkReceiver } from '../check/run.js';
import { TransferServiceClient } from '../client.js';
import { TransferServiceError } from '../error.js';
import type { DeliveredEvent } from '../types.js';
import { report } from './check.js';
import { type Command, type Given, required } from './command.js';
import { CREDENTIALS, CREDENTIALS_HELP, readCredentials } from './credentials.js';
import { EventFeed } from './event-feed.js';
import { harmless, harmlessJson } from './harmless.js';
import { pacedFetch } from './paced-fetch.js';
import { checkTarget, type Forwarded, postEvent } from './post-event.js';
import { readSecretFile } from './secret-file.js';

/** At most one request for events in this time, ms. */
const POLL = 1_000;
/** Longer texts of an event are cut, in characters. */
const LONGEST_SHOWN = 200;

export const forward: Command = {
  summary: "post your account's events to a receiver on this machine: no tunnel, no public URL",
  usage: '--to URL --secret-file FILE [options]',
  help: `Reads new events from now on, signs each with the secret as the service does, and posts it to the
receiver. It registers no endpoint, and retries nothing.

  --to URL             the receiver, such as http://localhost:4000/hooks
  --secret-file FILE   the secret that the receiver verifies with (one trailing line break is ignored)
  --check              first send the nine requests of a check, and end if the receiver fails it
  --allow-remote       accept a receiver that is not on this machine
  --production         accept a production service
  --json               print a line of JSON for each event
${CREDENTIALS_HELP}`,
  options: {
    ...CREDENTIALS,
    to: { type: 'string' },
    'secret-file': { type: 'string' },
    check: { type: 'boolean' },
    'allow-remote': { type: 'boolean' },
    production: { type: 'boolean' },
    json: { type: 'boolean' },
  },
  async run(given) {
    const { values, signal, print } = given;
    const url = checkTarget(required(values, 'to'), values['allow-remote'] === true);
    const secret = await readSecretFile(required(values, 'secret-file'));
    const credentials = await readCredentials(given);
    const client = new TransferServiceClient({ ...credentials, fetch: pacedFetch('/events', POLL, signal) });
    try {
      const { environment } = await client.service.meta({ signal });
      if (environment !== 'sandbox' && values.production !== true) {
        given.warn(`${credentials.baseUrl} is a production service; add --production to read its events`);
        return 1;
      }
      if (values.check === true && report(await checkReceiver(url, secret, signal), given) !== 0) return 1;
      const feed = new EventFeed(client, signal);
      await feed.begin();
      print(
        values.json
          ? harmlessJson({ forwarding: credentials.baseUrl, environment, to: url.href })
          : harmless(`forwarding the events of ${credentials.baseUrl} (${environment}) to ${url.href}; Ctrl-C ends it`),
      );
      for (;;) {
        for (const event of await nextOf(feed, given)) {
          const result = await postEvent(event, { url, secret, signal });
          print(values.json ? harmlessJson(present(event, result)) : describe(event, result));
        }
      }
    } catch (error) {
      if (signal.aborted) return 0;
      throw error;
    }
  },
};

/** An outage of the service, which the client has tried to bridge already, does not end the command. */
async function nextOf(feed: EventFeed, { warn }: Given): Promise<DeliveredEvent[]> {
  try {
    return await feed.next();
  } catch (error) {
    if (!(error instanceof TransferServiceError)) throw error;
    const { status, code } = error;
    // A token may expire while its request waits for its turn.
    const passes = status === undefined || status === 429 || status >= 500 || code === 'invalid_token';
    if (!passes) throw error;
    warn(`${harmless(error.message, LONGEST_SHOWN)}; trying again`);
    return [];
  }
}

function present({ id, type, data }: DeliveredEvent, { status, error, milliseconds }: Forwarded) {
  return { forwarded_at: new Date().toISOString(), id, type, data, status, error, duration_ms: milliseconds };
}

/** `12:00:01.123  transfer.status_changed SENT  event 0195…  → 204 in 12 ms` */
function describe({ id, type, data }: DeliveredEvent, { status, error, milliseconds }: Forwarded): string {
  const shown = (text: unknown) => harmless(String(text), LONGEST_SHOWN);
  const what = `${shown(type)} ${shown(data?.status ?? '')}`.trim();
  const result = `${status ?? shown(error)}${status !== null && error === 'redirect' ? ' (a redirect, not followed)' : ''}`;
  return `${new Date().toISOString().slice(11, 23)}  ${what}  event ${shown(id)}  → ${result} in ${milliseconds} ms`;
}
