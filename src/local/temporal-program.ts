import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { killGroup, recordProcess, type StartPlan } from './child.js';
import { releaseLock, tryLock } from './stack-state.js';

/** The last release whose module `go install` accepts; it has server 1.29.1. */
const VERSION = '1.5.1';

/** How often a long step is reported, ms. */
const EVERY = 15_000;

export interface ProgramSearch extends Pick<StartPlan, 'signal' | 'progress'> {
  cacheDir: string;
  path: string | undefined;
  /** Called every 15 s with how far the step is. By default it is `progress`. */
  onWait?(line: string): void;
  /** Called with the process that downloads or builds. */
  onStart?: StartPlan['onStart'];
}

/**
 * Gets the program into the empty folder `draft`. Calls `say` when a step begins, and `note` when it advances.
 * @returns its path; undefined if that cannot be done here
 */
type Source = (search: ProgramSearch, draft: string, report: Report) => Promise<string | undefined>;
type Report = Record<'say' | 'note', (line: string) => void>;

/**
 * Finds the program `temporal`, which runs `server start-dev`: on PATH, in the cache, by the SDK's own download, or by
 * a build with Go. A downloaded or built program stays in the cache. It appears there complete, however this process or
 * another that shares the cache ends.
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
  const { stop, ...report } = startReport(search);
  try {
    const made = await untilLocked(workshop, find, search, report);
    if (made) return made;
    try {
      return await make(search, sources, workshop, cached, report);
    } finally {
      releaseLock(workshop);
    }
  } finally {
    stop();
  }
}

/** Reports each step when it begins, and how far it is every 15 s. */
function startReport({ progress, onWait = progress }: ProgramSearch): Report & { stop(): void } {
  let last = '';
  const note = (line: string) => {
    last = line;
  };
  const clock = setInterval(() => onWait(last), EVERY);
  return {
    note,
    say(line) {
      note(line);
      progress(line);
    },
    stop: () => clearInterval(clock),
  };
}

/** Locks the folder, for one process at a time makes the program. @returns the program, if another process has made it */
async function untilLocked(folder: string, find: () => string | undefined, { signal }: ProgramSearch, { say }: Report) {
  for (let waitsFor = 0; ; await sleep(500, undefined, { signal })) {
    const holder = tryLock(folder);
    const found = find();
    if (found && !holder) releaseLock(folder);
    if (found || !holder) return found;
    if (waitsFor !== holder.pid) say(`waiting for Temporal's server, which process ${holder.pid} downloads or builds`);
    waitsFor = holder.pid;
  }
}

async function make(
  search: ProgramSearch,
  sources: readonly Source[],
  workshop: string,
  cached: string,
  report: Report,
): Promise<string> {
  // A killed process leaves its draft behind.
  for (const name of readdirSync(workshop)) if (name.startsWith(DRAFT)) removeFolder(join(workshop, name));
  for (const source of sources) {
    const draft = mkdtempSync(join(workshop, DRAFT));
    try {
      const program = await source(search, draft, report);
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

/** A download that gets no byte for so long has failed, ms. */
const STALLED = 60_000;

/** Lets the SDK download the program, in a process of its own, since its download cannot be aborted. */
async function download(search: ProgramSearch, draft: string, { say, note }: Report): Promise<string | undefined> {
  const testing = findTesting();
  if (!testing) return undefined;
  const script = `
    import testing from ${JSON.stringify(testing)};
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(draft)} };
    await (await testing.TestWorkflowEnvironment.createLocal({ server: { executable } })).teardown();`;
  say("downloading Temporal's server, once");
  const stalled = new AbortController();
  let [bytes, since] = [0, Date.now()];
  const clock = setInterval(() => {
    const now = sizeOf(draft);
    if (now !== bytes) [bytes, since] = [now, Date.now()];
    if (Date.now() - since > STALLED) stalled.abort();
    note(`downloading Temporal's server: ${Math.round(bytes / 1e6)} MB`);
  }, 1_000);
  try {
    const args = ['--input-type=module', '--eval', script];
    const done = await runBeside(search, process.execPath, args, process.env, () => {}, stalled.signal);
    return done ? filesOf(draft).find(isProgram) : undefined;
  } finally {
    clearInterval(clock);
  }
}

const filesOf = (folder: string) => readdirSync(folder).map((name) => join(folder, name));

const sizeOf = (folder: string) =>
  filesOf(folder).reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);

/** The URL of the SDK's package that downloads. The container image does not have it. */
function findTesting(): string | undefined {
  try {
    return pathToFileURL(createRequire(import.meta.url).resolve('@temporalio/testing')).href;
  } catch {
    return undefined;
  }
}

const TARGET = `github.com/temporalio/cli/cmd/temporal@v${VERSION}`;

/**
 * The releases have no cgo and no debug information either (.goreleaser.yml of the module). Go's compiler collects
 * garbage only beyond 1 GiB. Together that saves a fifth of the CPU.
 */
const FLAGS = ['-ldflags=-s -w', '-gcflags=all=-dwarf=false'];
const BUILD = { CGO_ENABLED: '0', GOGC: 'off', GOMEMLIMIT: '1GiB' };

export async function build(search: ProgramSearch, draft: string, { say, note }: Report): Promise<string | undefined> {
  const go = onPath('go', search.path);
  if (!go) return undefined;
  const env = { ...process.env, ...BUILD, GOBIN: draft, GOTMPDIR: draft };
  let last = '';
  const run = (options: string[], onLine: (line: string) => void) =>
    runBeside(search, go, ['install', ...options, ...FLAGS, TARGET], env, (line) => {
      last = line;
      onLine(line);
    });

  say("building Temporal's server with Go, once: fetching its sources");
  let [fetched, total, built] = [0, 0, 0];
  // -n prints the commands of the build, once Go has fetched the modules. Each package that it will build has a folder.
  const listed = await run(['-n'], (line) => {
    if (line.startsWith('mkdir -p $WORK/b')) total++;
    if (line.startsWith('go: downloading ')) {
      note(`building Temporal's server with Go: fetching its sources, ${++fetched} modules so far`);
    }
  });
  const since = Date.now();
  const describe = () => describeBuild(built, total, Date.now() - since);
  if (listed) say(describe());
  // -v prints each package when its build begins.
  const done =
    listed &&
    (await run(['-v'], () => {
      built = Math.min(built + 1, total);
      note(describe());
    }));
  if (done) return join(draft, 'temporal');
  say(`building Temporal's server failed: ${last}`);
  return undefined;
}

/**
 * How far a build is, and how long it takes if its other packages take as long as those so far and a minute more.
 * @param elapsed ms
 */
export function describeBuild(built: number, total: number, elapsed: number): string {
  const building = "building Temporal's server with Go";
  if (built < total / 50) return `${building}: ${total} packages`;
  if (built === total) return `${building}: linking its ${total} packages`;
  // The last packages are the largest, and the link follows them: together a minute more.
  const minutes = 1 + Math.ceil((elapsed * (total - built)) / built / 60_000);
  return `${building}: ${built} of ${total} packages, about ${minutes} minutes left`;
}

/**
 * Runs a program at the lowest priority, so that the service goes first. Its process group ends with this process, and
 * with the signal.
 * @returns whether it has succeeded
 */
async function runBeside(
  { signal, onStart }: ProgramSearch,
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onLine: (line: string) => void,
  stalled?: AbortSignal,
): Promise<boolean> {
  signal?.throwIfAborted();
  const child = spawn('nice', ['-n', '19', command, ...args], {
    detached: true,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.on('error', () => {});
  const { pid } = child;
  if (pid === undefined) return false;
  const kill = () => killGroup(pid);
  process.once('exit', kill);
  for (const abort of [signal, stalled]) abort?.addEventListener('abort', kill);
  try {
    onStart?.(recordProcess(pid));
    createInterface({ input: child.stderr }).on('line', onLine);
    await once(child, 'close');
  } catch (error) {
    kill();
    throw error;
  } finally {
    process.off('exit', kill);
    for (const abort of [signal, stalled]) abort?.removeEventListener('abort', kill);
  }
  signal?.throwIfAborted();
  return child.exitCode === 0;
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
