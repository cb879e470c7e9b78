import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readEnvironment, SECRETS } from '../platform/config/config.js';
import { withSecrets } from '../platform/config/environment.js';
import { keyId } from '../platform/database/encryption.js';
import { Secret } from '../platform/secret.js';
import { endGroup, endProcess, isRunning, type ProcessRecord, recordProcess } from './child.js';

/** Writes a JSON file that only its owner can read (0600), atomically: after a crash the previous file is still there. */
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

const form = z.object({ postgres_password: z.string().min(1), master_key: z.string().min(1) }).transform((file) => ({
  postgresPassword: new Secret(file.postgres_password),
  /** 32 bytes in base64, like `MASTER_KEY`. */
  masterKey: new Secret(file.master_key),
}));
/** The secrets that the embedded stack makes at its first start. */
type LocalSecrets = z.output<typeof form>;
const SECRETS_FILE = 'secrets.json';

/** The secrets in `LOCAL_DIR/secrets.json` (0600); undefined before the first start. */
export function readSecrets(localDir: string): LocalSecrets | undefined {
  const file = readPrivateJson(join(localDir, SECRETS_FILE));
  return file === undefined ? undefined : form.parse(file);
}

export function makeSecrets(localDir: string): LocalSecrets {
  const made = { postgres_password: randomBytes(24).toString('hex'), master_key: randomBytes(32).toString('base64') };
  writePrivateJson(join(localDir, SECRETS_FILE), made);
  return form.parse(made);
}

/** The start of Temporal beside the running service, in a line for people. `failed`: this service will have none. */
export interface TemporalStart {
  failed: boolean;
  line: string;
}

/** `LOCAL_DIR/stack.json`: the processes under LOCAL_DIR, for the commands and for the start after a crash. */
export interface StackState {
  postgres?: ProcessRecord;
  temporal?: ProcessRecord;
  /** What downloads or builds Temporal's server. */
  building?: ProcessRecord;
  /** How far Temporal's start is; absent once Temporal serves. */
  temporalStart?: TemporalStart | undefined;
  ports: { postgres: number; temporal: number; temporalUi: number };
  /**
   * The `keyId` of the service's master key. The service could not open an envelope that a command seals with another.
   */
  masterKeyId: string;
  /** The variables that a command needs to work on this stack, without secrets. */
  env: Record<string, string>;
}

const STATE_FILE = 'stack.json';

export const readState = (localDir: string): StackState | undefined =>
  readPrivateJson(join(localDir, STATE_FILE)) as StackState | undefined;

export const writeState = (localDir: string, state: StackState): void =>
  writePrivateJson(join(localDir, STATE_FILE), state);

/** Ends the processes that a killed parent left running: Temporal first, then Postgres. */
export async function endLeftovers(localDir: string, progress: (line: string) => void): Promise<void> {
  const state = readState(localDir);
  if (state?.building) await endGroup(state.building);
  for (const [name, record, signal] of [
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
  return new Secret(`postgresql://${POSTGRES_NAME}:${password.reveal()}@127.0.0.1:${port}/${database}`);
}

/** The id of the master key of a process that works on the stack: the given key, or else the stack's own key. */
export function masterKeyIdOf(given: Secret<Uint8Array> | undefined, { masterKey }: LocalSecrets): string {
  return keyId(given ?? new Secret<Uint8Array>(Buffer.from(masterKey.reveal(), 'base64')));
}

/** The environment of a process that works on the stack. `env` is the process's own environment. */
export function stackEnvironment(
  env: NodeJS.ProcessEnv,
  state: StackState,
  { postgresPassword, masterKey }: LocalSecrets,
): NodeJS.ProcessEnv {
  const { env: given } = withSecrets(env, SECRETS);
  return {
    ...given,
    ...state.env,
    DATABASE_URL: postgresUrl(state.ports.postgres, postgresPassword).reveal(),
    // The embedded Postgres has no pooler in front.
    DATABASE_DIRECT_URL: '',
    MASTER_KEY: given.MASTER_KEY || masterKey.reveal(),
  };
}

/**
 * The environment of the embedded stack that runs under LOCAL_DIR, for a command without DATABASE_URL.
 * @throws Error of one line if no stack runs there
 */
export function findStack(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { LOCAL_DIR, MASTER_KEY } = readEnvironment(env);
  const state = lockHolder(LOCAL_DIR) && readState(LOCAL_DIR);
  const secrets = readSecrets(LOCAL_DIR);
  if (!state || !secrets) {
    throw new Error(
      `no embedded stack runs under ${LOCAL_DIR}: start one (npm start), or set DATABASE_URL and TEMPORAL_ADDRESS`,
    );
  }
  if (masterKeyIdOf(MASTER_KEY, secrets) !== state.masterKeyId) {
    throw new Error(
      `MASTER_KEY: the service under ${LOCAL_DIR} was started with another key; give the command the same key`,
    );
  }
  return stackEnvironment(env, state, secrets);
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
 * only. A process that ends leaves its generation behind, so that a number is never used twice.
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
