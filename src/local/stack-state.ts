import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readEnvironment } from '../platform/config/config.js';
import { keyId } from '../platform/database/encryption.js';
import { Secret } from '../platform/secret.js';
import { endProcess, isRunning, type ProcessRecord, recordProcess } from './child.js';

/**
 * Writes a JSON file that only its owner can read (0600), atomically: after a crash the previous file is still there.
 */
export function writePrivateJson(path: string, document: unknown): void {
  const draft = `${path}.${process.pid}`;
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** What the file holds; undefined if there is no file. @throws SyntaxError */
export function readPrivateJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

const secretsForm = z.object({ postgres_password: z.string().min(1), master_key: z.string().min(1) });

/** The secrets of `LOCAL_DIR/secrets.json` (0600), which the first start makes. `master_key` is like `MASTER_KEY`. */
export function provideSecrets(localDir: string): z.infer<typeof secretsForm> {
  const path = join(localDir, 'secrets.json');
  const known = readPrivateJson(path);
  if (known !== undefined) return secretsForm.parse(known);
  const made = { postgres_password: randomBytes(24).toString('hex'), master_key: randomBytes(32).toString('base64') };
  writePrivateJson(path, made);
  return made;
}

/** `LOCAL_DIR/stack.json` (0600): the processes under LOCAL_DIR, for the commands and for the start after a crash. */
export interface StackState {
  postgres?: ProcessRecord;
  temporal?: ProcessRecord;
  /** What downloads or builds Temporal's server. */
  building?: ProcessRecord;
  /** How far Temporal's start is, for people; absent once Temporal serves. `failed`: this service will have none. */
  temporalStart?: { failed: boolean; line: string } | undefined;
  /** The `keyId` of the service's master key. The service could not open what a command seals with another. */
  masterKeyId: string;
  /** The variables of the service, without secrets, which a command needs to work on this stack. */
  env: NodeJS.ProcessEnv;
}

const STATE_FILE = 'stack.json';

export const readState = (localDir: string): StackState | undefined =>
  readPrivateJson(join(localDir, STATE_FILE)) as StackState | undefined;

export const writeState = (localDir: string, state: StackState): void =>
  writePrivateJson(join(localDir, STATE_FILE), state);

/** Ends the processes that a killed parent left running: Temporal first, then Postgres. */
export async function endLeftovers(localDir: string, progress: (line: string) => void): Promise<void> {
  const state = readState(localDir);
  for (const [name, record, signal] of [
    ['what builds Temporal', state?.building, 'SIGKILL'],
    ['Temporal', state?.temporal, 'SIGTERM'],
    ['Postgres', state?.postgres, 'SIGINT'],
  ] as const) {
    if (!record || !isRunning(record)) continue;
    progress(`ending ${name}: an earlier run was killed and left it running as process ${record.pid}`);
    await endProcess(record, signal, 10_000);
  }
}

/** The name of the user and of the database. */
export const POSTGRES_NAME = 'transfer_service';

export function postgresUrl(port: number, password: Secret, database = POSTGRES_NAME): Secret {
  return new Secret(`postgresql://${POSTGRES_NAME}:${password.reveal()}@127.0.0.1:${port}/${database}?sslmode=disable`);
}

/**
 * Forgets what the environment says of another Postgres and another Temporal: the stack's own connections are complete
 * without it. `pg` reads `PG…` from the process, and gRPC its proxy.
 */
export function forgetOtherServers(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // Each process sets PGAPPNAME itself, and an operator may.
  const isOther = (name: string) => /^(PG(?!APPNAME$)[A-Z]|TEMPORAL_(TLS|API_KEY))/.test(name);
  for (const name of Object.keys(process.env)) if (/^PG/.test(name) && isOther(name)) delete process.env[name];
  process.env.no_grpc_proxy = '127.0.0.1';
  return Object.fromEntries(Object.entries(env).filter(([name]) => !isOther(name)));
}

/** The environment of a process that works on the stack. `env` is its own, whose MASTER_KEY counts if it has one. */
export function stackEnvironment(
  env: NodeJS.ProcessEnv,
  state: Pick<StackState, 'env'>,
  { postgres_password, master_key }: ReturnType<typeof provideSecrets>,
): NodeJS.ProcessEnv {
  const { MASTER_KEY } = readEnvironment(env);
  return {
    ...env,
    ...state.env,
    DATABASE_URL: postgresUrl(Number(state.env.POSTGRES_PORT), new Secret(postgres_password)).reveal(),
    // The embedded Postgres has no pooler in front.
    ...{ DATABASE_DIRECT_URL: '', DATABASE_DIRECT_URL_FILE: '' },
    MASTER_KEY: MASTER_KEY ? Buffer.from(MASTER_KEY.reveal()).toString('base64') : master_key,
    MASTER_KEY_FILE: '',
  };
}

export const masterKeyIdOf = ({ MASTER_KEY = '' }: NodeJS.ProcessEnv): string =>
  keyId(new Secret<Uint8Array>(Buffer.from(MASTER_KEY, 'base64')));

/**
 * The environment of the embedded stack that runs under LOCAL_DIR, for a command without DATABASE_URL.
 * @throws Error of one line if no stack runs there, or with another master key
 */
export function findStack(given: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const env = forgetOtherServers(given);
  const { LOCAL_DIR } = readEnvironment(env);
  const state = lockHolder(LOCAL_DIR) && readState(LOCAL_DIR);
  if (!state) {
    throw new Error(
      `no embedded stack runs under ${LOCAL_DIR}: start one (npm start), or set DATABASE_URL and TEMPORAL_ADDRESS`,
    );
  }
  const found = stackEnvironment(env, state, provideSecrets(LOCAL_DIR));
  if (masterKeyIdOf(found) !== state.masterKeyId) {
    throw new Error(
      `MASTER_KEY: the service under ${LOCAL_DIR} was started with another key; give the command the same key`,
    );
  }
  return found;
}

const NAME = /^lock\.(\d+)$/;

/**
 * Takes the lock of LOCAL_DIR for this process.
 * @throws Error of one line that names the running process that holds the lock
 */
export function takeLock(localDir: string): void {
  const holder = tryLock(localDir);
  if (!holder) return;
  throw new Error(
    `the embedded stack under ${localDir} is already running as process ${holder.pid}; stop it, or set another LOCAL_DIR`,
  );
}

/**
 * Takes the lock of `folder` for this process. The lock has generations `lock.1`, `lock.2`, …, of which the highest is
 * valid. A process that finds the holder dead makes the next generation, which the file system allows to one process
 * only. A process that ends leaves its generation behind, so that a number is never used twice. A lock by modification
 * time (proper-lockfile) is lost while its process is stopped, outlives a kill by seconds, and names no process.
 * @returns the running process that holds the lock; undefined if this process has it now
 */
export function tryLock(folder: string): ProcessRecord | undefined {
  const mine = JSON.stringify(recordProcess(process.pid));
  for (;;) {
    const last = highest(folder);
    const holder = runningHolder(folder, last);
    if (holder) return holder;
    if (!claim(folder, last + 1, mine) || highest(folder) !== last + 1) continue;
    for (const older of generations(folder)) if (older <= last) rmSync(join(folder, `lock.${older}`), { force: true });
    return undefined;
  }
}

/** The running process that holds the lock of `folder`, if any. */
export function lockHolder(folder: string): ProcessRecord | undefined {
  return runningHolder(folder, highest(folder));
}

/** Releases the lock of this process, which may go on running. */
export function releaseLock(folder: string): void {
  const last = highest(folder);
  if (runningHolder(folder, last)?.pid === process.pid) claim(folder, last + 1, 'released');
}

function generations(folder: string): number[] {
  try {
    return readdirSync(folder).flatMap((name) => Number(NAME.exec(name)?.[1] ?? []));
  } catch {
    return [];
  }
}

const highest = (folder: string) => Math.max(0, ...generations(folder));

function runningHolder(folder: string, generation: number): ProcessRecord | undefined {
  try {
    const holder = JSON.parse(readlinkSync(join(folder, `lock.${generation}`))) as ProcessRecord;
    return isRunning(holder) ? holder : undefined;
  } catch {
    // Released, or not there.
    return undefined;
  }
}

/** A link is made with its content in one step. False if the generation exists. */
function claim(folder: string, generation: number, content: string): boolean {
  try {
    symlinkSync(content, join(folder, `lock.${generation}`));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
