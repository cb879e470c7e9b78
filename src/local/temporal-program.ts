import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { killGroup, recordProcess, type StartPlan } from './child.js';
import { releaseLock, tryLock } from './stack-state.js';

/** The last release whose module `go install` accepts; it has server 1.29.1. */
const VERSION = '1.5.1';

export interface ProgramSearch extends Pick<StartPlan, 'signal' | 'progress'> {
  cacheDir: string;
  path: string | undefined;
  /** Called with the process that downloads or builds. */
  onStart?: StartPlan['onStart'];
}

/** Gets the program into the empty folder `draft`. @returns its path; undefined if that cannot be done here */
type Source = (search: ProgramSearch, draft: string) => Promise<string | undefined>;

/**
 * Finds the program `temporal`, which runs `server start-dev`: on PATH, in the cache, by the SDK's own download, or by
 * a build with Go. A downloaded or built program stays in the cache. It appears there complete, however this process or
 * another that shares the cache ends. One process at a time downloads or builds.
 * @throws Error that names the program to install
 */
export async function findTemporal(
  search: ProgramSearch,
  sources: readonly Source[] = [download, build],
): Promise<string> {
  const cached = join(search.cacheDir, `temporal-${VERSION}`, 'temporal');
  const find = () => onPath('temporal', search.path) ?? (isProgram(cached) ? cached : undefined);
  const found = find();
  if (found) return found;

  const workshop = `${dirname(cached)}.new`;
  try {
    mkdirSync(workshop, { recursive: true });
  } catch (error) {
    throw new Error(`CACHE_DIR: ${(error as Error).message}; give a writable folder`);
  }
  while (tryLock(workshop)) await sleep(500, undefined, { signal: search.signal });
  try {
    return find() ?? (await make(search, sources, workshop, cached));
  } finally {
    releaseLock(workshop);
  }
}

async function make(
  search: ProgramSearch,
  sources: readonly Source[],
  workshop: string,
  cached: string,
): Promise<string> {
  // A killed process leaves its draft behind.
  for (const name of readdirSync(workshop)) if (name.startsWith(DRAFT)) removeFolder(join(workshop, name));
  for (const source of sources) {
    const draft = mkdtempSync(join(workshop, DRAFT));
    try {
      const program = await source(search, draft);
      if (!program) continue;
      mkdirSync(dirname(cached), { recursive: true });
      renameSync(program, cached);
      return cached;
    } finally {
      removeFolder(draft);
    }
  }
  throw new Error(
    'Temporal is not installed and can be neither downloaded nor built; install the Temporal CLI (https://docs.temporal.io/cli) or Go (https://go.dev/dl), and start again',
  );
}

const DRAFT = 'draft-';

/** A process of the folder may be ending: what it writes meanwhile is removed at another try. */
const removeFolder = (path: string) => rmSync(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });

/** Longest download, ms. It may stall. */
const DOWNLOAD_WITHIN = 180_000;

/**
 * Lets the SDK's package for tests download the program, in a process of its own, since its download cannot be aborted.
 * The container image does not have the package.
 */
async function download(search: ProgramSearch, draft: string): Promise<string | undefined> {
  const script = `
    import testing from '@temporalio/testing';
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(draft)} };
    await (await testing.TestWorkflowEnvironment.createLocal({ server: { executable } })).teardown();`;
  search.progress("downloading Temporal's server, once");
  const args = ['--input-type=module', '--eval', script];
  const fault = await runBeside(search, process.execPath, args, { cwd: import.meta.dirname, timeout: DOWNLOAD_WITHIN });
  const files = readdirSync(draft).map((name) => join(draft, name));
  return fault === undefined ? files.find(isProgram) : undefined;
}

/**
 * The releases have no cgo and no debug information either (.goreleaser.yml of the module). Go's compiler collects
 * garbage only beyond 1 GiB. Together that saves a fifth of the CPU.
 */
const INSTALL = ['install', '-ldflags=-s -w', '-gcflags=all=-dwarf=false'];
const BUILD = { CGO_ENABLED: '0', GOGC: 'off', GOMEMLIMIT: '1GiB' };

export async function build(search: ProgramSearch, draft: string): Promise<string | undefined> {
  const go = onPath('go', search.path);
  if (!go) return undefined;
  search.progress("building Temporal's server with Go, once: this takes minutes, in which deliveries already work");
  const env = { ...process.env, ...BUILD, GOBIN: draft, GOTMPDIR: draft };
  const fault = await runBeside(search, go, [...INSTALL, `github.com/temporalio/cli/cmd/temporal@v${VERSION}`], {
    env,
  });
  if (fault === undefined) return join(draft, 'temporal');
  search.progress(`building Temporal's server failed: ${fault}`);
  return undefined;
}

/**
 * Runs a program at the lowest priority, so that the service goes first. Its process group ends with this process, and
 * with the signal.
 * @returns undefined if it has succeeded, else the last line of its standard error
 */
async function runBeside(
  { signal, onStart }: ProgramSearch,
  command: string,
  args: readonly string[],
  { timeout, ...options }: SpawnOptions,
): Promise<string | undefined> {
  signal?.throwIfAborted();
  const child = spawn('nice', ['-n', '19', command, ...args], {
    ...options,
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.on('error', () => {});
  const { pid } = child;
  if (pid === undefined) return 'nice cannot be executed';
  const kill = () => killGroup(pid);
  process.once('exit', kill);
  signal?.addEventListener('abort', kill);
  const limit = timeout && setTimeout(kill, timeout);
  let last = '';
  try {
    onStart?.(recordProcess(pid));
    createInterface({ input: child.stderr }).on('line', (line) => {
      last = line;
    });
    await once(child, 'close');
  } catch (error) {
    kill();
    throw error;
  } finally {
    clearTimeout(limit);
    process.off('exit', kill);
    signal?.removeEventListener('abort', kill);
  }
  signal?.throwIfAborted();
  return child.exitCode === 0 ? undefined : last;
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
