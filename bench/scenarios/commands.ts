import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Bench } from '../bench.js';
import { now } from '../clock.js';
import { during } from '../ending.js';
import { inTurn } from '../in-turn.js';
import { atMost, type Outcome } from '../report.js';
import { CLI } from '../service.js';
import { startStack } from '../stack.js';
import { median } from '../statistics.js';

const DATABASE_COMMAND = ['clients', 'list', '--json'];

/** The duration of an operator's command. */
export async function commands(bench: Bench): Promise<Outcome> {
  const { starts } = bench.options;
  return during(startStack(bench.say), async (stack) => {
    const env = { ...process.env, ...stack.env, BASE_URL: 'http://127.0.0.1' };
    const run = (args: readonly string[]) => secondsOf(args, env);
    bench.say(`${starts} starts of each command`);
    // The first run of each reads files from disk.
    await run([CLI, '--help']);
    await run([CLI, ...DATABASE_COMMAND]);
    const { bare, help, database } = await inTurn(starts, () => undefined, {
      bare: () => run(['--eval', '']),
      help: () => run([CLI, '--help']),
      database: () => run([CLI, ...DATABASE_COMMAND]),
    });
    const named = { 'node, nothing run': bare, '--help': help, [DATABASE_COMMAND.join(' ')]: database };
    const rows = Object.entries(named).map(([what, seconds]) => ({
      ...{ what, 'median s': median(seconds), 'least s': Math.min(...seconds), 'most s': Math.max(...seconds) },
    }));
    return {
      sections: [{ title: `Commands, ${starts} starts of each`, rows }],
      verdicts: [
        atMost('s of transfer-service --help', median(help), 0.15),
        atMost('s of a database command', median(database), 0.4),
      ],
    };
  });
}

async function secondsOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = now();
  await promisify(execFile)(process.execPath, args, { env });
  return (now() - startedAt) / 1_000;
}
