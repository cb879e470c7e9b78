import { type Command, InvalidArgumentError } from 'commander';
import type { Arrival } from '../local/receiver.js';
import { untilSignalled } from '../process/signals.js';
import { readSecretFile } from './secret-file.js';
import { harmless, harmlessJson } from './view/harmless.js';

interface Options {
  port: number;
  secretFile: string;
  fail: number;
  json?: true;
}

/** `listen`: a local receiver for integrators. With `--json` it prints one line of JSON for each delivery. */
export function addListen(program: Command): void {
  program
    .command('listen')
    .description('receive, verify and print deliveries on this machine; stop it with Ctrl-C')
    .requiredOption('--secret-file <file>', "a file with the endpoint's secret (one trailing line break is ignored)")
    .option('--port <port>', 'the port on 127.0.0.1; 0 for a free port', parseCount(65_535), 4000)
    .option('--fail <n>', 'respond with 500 to the first n deliveries', parseCount(1_000_000), 0)
    .option('--json', 'print a line of JSON for the address and for each delivery')
    .action(async ({ port, secretFile, fail, json }: Options) => {
      const print = (line: string) => process.stdout.write(`${line}\n`);
      const { startReceiver } = await import('../local/receiver.js');
      const receiver = await startReceiver({
        port,
        secret: await readSecretFile(secretFile),
        failFirst: fail,
        onArrival: (arrival) => print(json ? harmlessJson(present(arrival)) : describe(arrival)),
      });
      print(json ? JSON.stringify({ listening: receiver.url }) : `listening on ${receiver.url}`);
      await untilSignalled();
      await receiver.close();
    });
}

/** Requests are untrusted before their signature is checked: longer texts are cut. In characters. */
const LONGEST_SHOWN = 200;
/** Larger `data` is omitted; in characters of JSON. The `data` of an event has about 80. */
const LONGEST_DATA = 4_096;

const cut = (text: string | null) => text?.slice(0, LONGEST_SHOWN) ?? null;

function present(arrival: Arrival) {
  return {
    received_at: arrival.at.toISOString(),
    id: cut(arrival.eventId),
    type: cut(arrival.type),
    data: JSON.stringify(arrival.data).length <= LONGEST_DATA ? arrival.data : null,
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

function parseCount(max: number) {
  return (text: string): number => {
    if (!/^\d{1,9}$/.test(text) || Number(text) > max)
      throw new InvalidArgumentError(`Give a number from 0 to ${max}.`);
    return Number(text);
  };
}
