import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../workflows/search-attributes.js';
import { type Child, type StartPlan, startChild } from './child.js';

interface TemporalPlan extends StartPlan {
  /** The program `temporal`. */
  command: string;
  port: number;
  uiPort: number;
  namespace: string;
}

/** Starts Temporal's dev server with its UI on 127.0.0.1. Its state is in `localDir`. */
export function startTemporal(plan: TemporalPlan): Promise<Child> {
  // SQLite makes its files readable for all users. The mode of the folder keeps other users out.
  const folder = join(plan.localDir, 'temporal');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return startChild({
    ...plan,
    name: 'Temporal',
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--log-level', 'error'],
      ...['--port', String(plan.port), '--ui-port', String(plan.uiPort), '--namespace', plan.namespace],
      ...['--db-filename', join(folder, 'temporal.db')],
      ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
      ...['--dynamic-config-value', 'matching.enableFairness=true'],
      ...SEARCH_ATTRIBUTES.flatMap(({ name, type }) => ['--search-attribute', `${name}=${SPELLING[type]}`]),
    ],
    logFile: join(plan.localDir, 'temporal.log'),
    stopSignal: 'SIGTERM',
    ping: () => describeNamespace(`127.0.0.1:${plan.port}`, plan.namespace),
  });
}

/** The dev server's spelling of the SDK's types. */
const SPELLING = { KEYWORD: 'Keyword', KEYWORD_LIST: 'KeywordList' } as const;

async function describeNamespace(address: string, namespace: string): Promise<void> {
  const connection = Connection.lazy({ address });
  try {
    await connection.withDeadline(Date.now() + 2_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } finally {
    await connection.close();
  }
}

/** The last release whose module `go install` accepts; it has server 1.29.1. */
const VERSION = '1.5.1';
const DOWNLOAD_WITHIN = 120_000;

interface BinarySearch extends Pick<StartPlan, 'progress' | 'signal'> {
  cacheDir: string;
  path: string | undefined;
}

/**
 * Finds the program `temporal`, which runs `server start-dev`: on PATH, in the cache, by the SDK's own download, or by
 * a build with Go. A downloaded or built program stays in the cache.
 * @throws Error that names the program to install
 */
export async function findTemporal(search: BinarySearch): Promise<string> {
  const cached = join(search.cacheDir, `temporal-${VERSION}`, 'temporal');
  const found = onPath('temporal', search.path) ?? (existsSync(cached) ? cached : undefined);
  if (found) return found;
  mkdirSync(search.cacheDir, { recursive: true });
  const draft = join(search.cacheDir, `temporal-${VERSION}.${process.pid}`);
  try {
    const got = (await download(search, draft)) ?? (await build(search, draft));
    if (got) {
      // A rename is atomic: a concurrent search finds the complete program or none.
      mkdirSync(dirname(cached), { recursive: true });
      renameSync(got, cached);
      return cached;
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  throw new Error(
    'Temporal is not installed and can be neither downloaded nor built; install the Temporal CLI (https://docs.temporal.io/cli) or Go, or set DATABASE_URL and TEMPORAL_ADDRESS',
  );
}

/**
 * Lets the SDK download the program. The SDK runs in a child process, since its download cannot be aborted.
 * @returns undefined if the download fails, or if the SDK's package for it is not installed
 */
async function download(search: BinarySearch, folder: string): Promise<string | undefined> {
  const testing = findTesting();
  if (!testing) return undefined;
  mkdirSync(folder, { recursive: true });
  const script = `
    import testing from ${JSON.stringify(testing)};
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(folder)} };
    await (await testing.TestWorkflowEnvironment.createLocal({ server: { executable } })).teardown();`;
  search.progress("downloading Temporal's server, once");
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
      timeout: DOWNLOAD_WITHIN,
      ...(search.signal && { signal: search.signal }),
    });
  } catch {
    search.signal?.throwIfAborted();
    return undefined;
  }
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .find(isProgram);
}

/** The URL of the SDK's package that downloads. The container image does not have it. */
function findTesting(): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve('@temporalio/testing')).href;
  } catch {
    return undefined;
  }
}

async function build(search: BinarySearch, folder: string): Promise<string | undefined> {
  const go = onPath('go', search.path);
  if (!go) return undefined;
  mkdirSync(folder, { recursive: true });
  search.progress(`building Temporal's server with Go, once; this takes about three minutes`);
  const child = spawn(go, ['install', `github.com/temporalio/cli/cmd/temporal@v${VERSION}`], {
    env: { ...process.env, GOBIN: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(search.signal && { signal: search.signal }),
  });
  let last = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    last = line;
  });
  const since = Date.now();
  const clock = setInterval(() => {
    search.progress(`building Temporal's server: ${Math.round((Date.now() - since) / 1000)} s${last && ` (${last})`}`);
  }, 15_000);
  try {
    const [code] = await once(child, 'exit');
    if (code === 0) return join(folder, 'temporal');
    search.progress(`building Temporal's server failed: ${last}`);
    return undefined;
  } finally {
    clearInterval(clock);
  }
}

function onPath(name: string, path: string | undefined): string | undefined {
  return (path ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
