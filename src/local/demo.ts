import { explain } from '../process/explain.js';
import { untilSignalled } from '../process/signals.js';
import { playDemo, type Stop } from './demo-script.js';

// `npm run demo`: shows the service at work. The service then stays up until Ctrl-C; with `--once` it ends at once.

const stops: Stop[] = [];
const once = process.argv.includes('--once');
const signalled = untilSignalled();
try {
  const finished = await Promise.race([playDemo(stops, once).then(() => true), signalled.then(() => false)]);
  if (finished && !once) {
    console.log('\nThe service stays up. Press Ctrl-C to stop it.');
    await signalled;
  }
} catch (error) {
  for (const line of explain(error)) console.error(line);
  process.exitCode = 1;
} finally {
  // The service ends first, so that its receivers are reachable until then.
  for (const stop of stops) await stop();
}
process.exit();
