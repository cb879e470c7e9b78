import { once } from 'node:events';
import { type Command, count, required } from './command.js';
import { harmless, harmlessJson } from './harmless.js';
import { type Arrival, startReceiver } from './receiver.js';
import { readSecretFile } from './secret-file.js';

export const listen: Command = {
  summary: 'receive, verify and print deliveries on this machine',
  usage: '--secret-file FILE [--port PORT] [--fail N] [--json]',
  help: `  --secret-file FILE   the endpoint's secret (one trailing line break is ignored)
  --port PORT          the port on 127.0.0.1; 0 for a free port (4000)
  --fail N             respond with 500 to the first N deliveries (0)
  --json               print a line of JSON for the address and for each delivery`,
  options: {
    'secret-file': { type: 'string' },
    port: { type: 'string' },
    fail: { type: 'string' },
    json: { type: 'boolean' },
  },
  async run({ values, signal, print }) {
    const receiver = await startReceiver({
      port: count(values, 'port', { byDefault: 4_000, least: 0, most: 65_535 }),
      failFirst: count(values, 'fail', { byDefault: 0, least: 0, most: 1_000_000 }),
      secret: await readSecretFile(required(values, 'secret-file')),
      onArrival: (arrival) => print(values.json ? harmlessJson(present(arrival)) : describe(arrival)),
    });
    print(values.json ? harmlessJson({ listening: receiver.url }) : `listening on ${receiver.url}; Ctrl-C ends it`);
    if (!signal.aborted) await once(signal, 'abort');
    await receiver.close();
    return 0;
  },
};

/** Requests are untrusted before their signature is checked: longer texts are cut. In characters. */
const LONGEST_SHOWN = 200;

const cut = (text: string | null) => text?.slice(0, LONGEST_SHOWN) ?? null;

function present(arrival: Arrival) {
  return {
    received_at: arrival.at.toISOString(),
    id: cut(arrival.eventId),
    type: cut(arrival.type),
    data: arrival.data,
    verified: arrival.verified,
    signature: arrival.signature,
    header: cut(arrival.header),
    seen_before: arrival.seenBefore,
    answered: arrival.answered,
  };
}

/** `12:00:01.123  transfer.status_changed SENT  event 0195…  signature verified  → 204` */
function describe(arrival: Arrival): string {
  const { status } = (arrival.data ?? {}) as { status?: unknown };
  const shown = (text: string) => harmless(text, LONGEST_SHOWN);
  const what = arrival.type
    ? `${shown(arrival.type)}${typeof status === 'string' ? ` ${shown(status)}` : ''}`
    : 'no event';
  const verdict = arrival.verified ? 'signature verified' : `BAD SIGNATURE: ${shown(arrival.signature)}`;
  const again = arrival.seenBefore ? '  seen before' : '';
  return `${arrival.at.toISOString().slice(11, 23)}  ${what}  event ${shown(arrival.eventId ?? '-')}  ${verdict}${again}  → ${arrival.answered}`;
}
