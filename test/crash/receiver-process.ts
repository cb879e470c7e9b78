import { createHash } from 'node:crypto';
import { pick, randomFrom } from '../support/random.js';
import { type Behaviour, startReceiver } from './receiver.js';

// The receiver in its own process (`fork`). It fails at random and succeeds in the end: `node receiver-process.js
// SECRET SEED FAULTS`. The path decides how an endpoint behaves: `/faulty…` fails a few times and then returns 204,
// `/dead…` returns 500 until it is healed. `…/toggled` also returns 410.

const [secret = '', seed = '', faults = ''] = process.argv.slice(2);
const HANGS = faults === 'with-hangs' ? 1.5 : 0;

const FAILURES: readonly (readonly [Behaviour, number])[] = [
  [500, 35],
  [503, 10],
  [302, 5],
  ['reset', 20],
  ['garbage', 15],
  ['cut', 15],
  ['endless', 10],
  // Each hang takes the service's full time limit of 15 s.
  ['hang', HANGS],
];

/** Failures of an endpoint that its client enables again. */
const TOGGLED: typeof FAILURES = [...FAILURES, [410, 3]];

let healed = false;
/** The next request at an endpoint that its client enables again gets 410. */
let gone = false;

/** The behaviour for a delivery, which the seed decides: number and kind of failures, and the delay of the success. */
function behave(path: string, event: string, n: number): Behaviour {
  const isToggled = path.endsWith('/toggled');
  if (isToggled && gone) {
    gone = false;
    return 410;
  }
  if (path.startsWith('/dead') && !healed) return 500;
  const digest = createHash('sha256').update(`${seed} ${path} ${event}`).digest();
  const random = randomFrom(digest.readUInt32BE());
  const failures = pick(random, [
    [0, 60],
    [1, 25],
    [2, 10],
    [3, 5],
  ] as const);
  if (healed || n > failures) return random() < 0.1 ? { slowly: 2_500 * random() } : 204;
  return pick(randomFrom(digest.readUInt32BE(4) + n), isToggled ? TOGGLED : FAILURES);
}

const receiver = await startReceiver(secret, behave);
process.send?.({ url: receiver.url });

process.on('message', (question: 'heal' | 'gone' | 'arrivals') => {
  if (question === 'heal') healed = true;
  if (question !== 'arrivals') gone = question === 'gone';
  process.send?.(question === 'arrivals' ? receiver.arrivals : []);
});
process.on('disconnect', () => process.exit());
