import type { Arrival } from '../../local/receiver.js';
import { untilSignalled } from '../../process/signals.js';
import { readSecretFile } from '../secret-file.js';
import { harmless, harmlessJson } from '../view/harmless.js';

export interface Options {
  port: number;
  secretFile: string;
  fail: number;
  json?: true;
}

/** `listen`: prints each delivery until a signal stops it. */
export async function listen({ port, secretFile, fail, json }: Options): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const { startReceiver } = await import('../../local/receiver.js');
  const receiver = await startReceiver({
    port,
    secret: await readSecretFile(secretFile),
    failFirst: fail,
    onArrival: (arrival) => print(json ? harmlessJson(present(arrival)) : describe(arrival)),
  });
  print(json ? JSON.stringify({ listening: receiver.url }) : `listening on ${receiver.url}`);
  await untilSignalled();
  await receiver.close();
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
