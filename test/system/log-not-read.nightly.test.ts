import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { freePort } from '../../src/platform/free-port.js';
import { waitFor } from '../support/wait-for.js';

const CONNECTIONS = 50;
/** Warns at a signal, and prints an uncaught error, which nobody reads here. */
const HOOKS = `data:text/javascript,
process.on('SIGUSR2', () => process.emitWarning('deprecated'));
process.on('uncaughtExceptionMonitor', (error) => console.log(error.stack));`;

let child: ChildProcess;
afterEach(() => {
  child.kill('SIGKILL');
});

/** An API whose standard error is a pipe that the test reads when it wants to. */
async function startApi() {
  const port = await freePort();
  const metricsPort = await freePort();
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  child = spawn(process.execPath, ['--import', HOOKS, 'dist/src/cli.js', 'api'], {
    env: {
      ...{
        PATH,
        HOME,
        NODE_COMPILE_CACHE,
        ENVIRONMENT: 'sandbox',
        HOST: '127.0.0.1',
        PORT: String(port),
        METRICS_PORT: String(metricsPort),
      },
      ...{ DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', TEMPORAL_ADDRESS: '127.0.0.1:1' },
      ...{ MASTER_KEY: Buffer.alloc(32, 'k').toString('base64'), BASE_URL: 'https://api.test', SHUTDOWN_DELAY: '0s' },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new Error('the process has no pipes');
  const printed: string[] = [];
  const lines = createInterface({ input: stdout }).on('line', (line) => printed.push(line));
  await once(lines, 'line');
  return {
    url: `http://127.0.0.1:${port}/healthz`,
    metrics: `http://127.0.0.1:${metricsPort}/metrics`,
    stderr,
    printed,
  };
}

async function askTimes(count: number, url: string, headers = {}): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {};
  let left = count;
  const ask = async () => {
    while (left-- > 0) {
      const response = await fetch(url, { signal: AbortSignal.timeout(20_000), headers });
      await response.text();
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, ask));
  return statuses;
}

test('a reader of the log that stalls delays no response and not the end of the process', async () => {
  const { url, metrics, printed } = await startApi();
  // The longest id that a line may have: the fewer lines fill the pipe.
  const ask = (count: number) => askTimes(count, url, { 'X-Request-Id': 'x'.repeat(128) });
  await waitFor('lines to be dropped', async () => {
    expect(await ask(500)).toEqual({ 200: 500 });
    const text = await (await fetch(metrics)).text();
    return Number(/^log_lines_dropped_total (\d+)$/m.exec(text)?.[1]) > 0;
  });
  expect(await ask(500)).toEqual({ 200: 500 });
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  expect({ ended: await ended, printed }).toEqual({ ended: [0, null], printed: ['ready https://api.test'] });
});

test('every line is JSON, warnings of Node.js included, and the last line before the end is complete', async () => {
  const { url, stderr } = await startApi();
  const all = text(stderr);
  child.kill('SIGUSR2');
  expect(await askTimes(100, url)).toEqual({ 200: 100 });
  child.kill('SIGTERM');
  const lines = (await all).trimEnd().split('\n');
  const messages = lines.map((line) => JSON.parse(line));
  expect(messages.filter(({ msg }) => msg === 'request')).toHaveLength(100);
  expect(messages).toContainEqual(expect.objectContaining({ level: 40, msg: 'warning of Node.js' }));
  expect(messages.at(-1)).toMatchObject({ msg: expect.stringMatching(/^stopping/) });
});
