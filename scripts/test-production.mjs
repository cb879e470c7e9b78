// `npm run test:production`: runs the tests of the whole stack on production's Temporal, the server on Postgres, and
// the long form of the rolling restart. It passes its arguments to Jest.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { startTemporalOnPostgres } from './temporal-on-postgres/start.mjs';

const SUITES =
  'test/(system/(delivery|story|roles|crash|kills)|long/(rolling|failpoints(-retries)?|bad-hours|isolation))\\.test';

const folder = mkdtempSync(join(tmpdir(), 'transfer-service-production-'));
const cacheDir =
  process.env.CACHE_DIR || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'transfer-service');
try {
  const progress = (line) => process.stderr.write(`${line}\n`);
  const temporal = await startTemporalOnPostgres({ folder, cacheDir, progress });
  const asked = process.argv.slice(2);
  const child = spawn('npx', ['jest', '--runInBand', ...(asked.length > 0 ? asked : [SUITES])], {
    stdio: 'inherit',
    env: {
      ...{ ROLLING_ROUNDS: '3', ROLLING_RATE: '20', ...process.env },
      NODE_OPTIONS: '--experimental-vm-modules',
      PATH: `${temporal.bin}${delimiter}${process.env.PATH}`,
    },
  });
  const [code] = await once(child, 'exit');
  process.exitCode = code ?? 1;
  await temporal.stop();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
