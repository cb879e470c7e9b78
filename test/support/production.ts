import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type Caller, caller } from './caller.js';
import { runCli } from './cli.js';
import { makeLocalDir } from './local-dir.js';
import { startStackProcess } from './stack-process.js';

/** An environment like production: migrated, with one API and with workers in separate processes. */
export interface Production {
  env: Record<string, string>;
  /** Makes a client of the API. */
  newClient(name: string): Promise<Caller>;
  startWorker(env?: Record<string, string>): ChildProcess;
  stop(): Promise<void>;
}

export async function startProduction(settings: Record<string, string> = {}): Promise<Production> {
  const folder = makeLocalDir();
  const stack = await startStackProcess(folder.path);
  const env: Record<string, string> = { ...stack.env, LOG_LEVEL: 'warn', RATE_LIMIT: '1000000', ...settings };
  const processes: ChildProcess[] = [];
  const start = (role: 'api' | 'worker', more: Record<string, string> = {}) => {
    const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, ['dist/src/cli.js', role], {
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...env, ...more },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    processes.push(child);
    return child;
  };
  const stop = async () => {
    for (const child of processes) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await stack.stop();
    await folder.remove();
  };
  const { code, stderr } = await runCli(['migrate'], env);
  if (code !== 0) throw new Error(stderr);
  await once(createInterface({ input: start('api').stdout as NonNullable<ChildProcess['stdout']> }), 'line');
  const at = { auth_url: env.AUTH_URL as string, base_url: env.BASE_URL as string };
  return {
    env,
    async newClient(name) {
      const { stdout } = await runCli(['clients', 'create', '--json', '--name', name], env);
      return caller(at, JSON.parse(stdout));
    },
    startWorker: (more) => start('worker', more),
    stop,
  };
}
