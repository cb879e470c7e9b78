// `npm run test:production`: runs the tests of the whole stack on production's Temporal, the server on Postgres, and
// the long form of the rolling restart. It passes its arguments to Jest.
import { runOnPostgres } from './temporal-on-postgres/run.mjs';

const SUITES = 'test/(system/(delivery|roles|kills)|long/(rolling|isolation))\\.test';

const asked = process.argv.slice(2);
const { ROLLING_ROUNDS = '3', ROLLING_RATE = '20' } = process.env;
process.exitCode = await runOnPostgres('npx', ['jest', '--runInBand', ...(asked.length > 0 ? asked : [SUITES])], {
  ROLLING_ROUNDS,
  ROLLING_RATE,
});
