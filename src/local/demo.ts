import { explain } from '../process/explain.js';
import { untilSignalled } from '../process/signals.js';
import { type Stop, tellStory } from './demo-story.js';

// `npm run demo`: shows the service at work. It stays up after, to be looked at; `npm run demo -- --once` ends.

const stops: Stop[] = [];
const signalled = untilSignalled();
try {
  const told = await Promise.race([tellStory(stops).then(() => true), signalled.then(() => false)]);
  if (told && !process.argv.includes('--once')) {
    console.log('\nAll of it stays up for you to look at. Ctrl-C ends it.');
    await signalled;
  }
} catch (error) {
  for (const line of explain(error)) console.error(line);
  process.exitCode = 1;
} finally {
  // The service first, so that it finds its receivers to the end.
  for (const stop of stops) await stop();
}
process.exit();
