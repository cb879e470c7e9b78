// `node scripts/on-production-temporal.mjs COMMAND…`: runs a command, such as the crash run or the soak, on production's
// Temporal. Needs the build.
import { runOnPostgres } from './temporal-on-postgres/run.mjs';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  console.error('usage: node scripts/on-production-temporal.mjs COMMAND…');
  process.exit(2);
}
process.exitCode = await runOnPostgres(command, args);
