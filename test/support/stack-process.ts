import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const FREE_PORTS = { PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' };

/** A process that has started the embedded stack, Temporal included. */
export interface StackProcess {
  process: ChildProcess;
  /** The environment that `startStack` returned. */
  env: Record<string, string>;
  temporalUiUrl: string;
  /** The progress lines so far. */
  progress: string[];
  /** Sends SIGTERM and waits for the end of the process. */
  stop(): Promise<void>;
}

/** Starts the process, which ends with this one. Rejects with its lines on standard error if the stack does not start. */
export async function startStackProcess(localDir: string, env: Record<string, string> = {}): Promise<StackProcess> {
  const script = `
    const { startStack } = await import(${JSON.stringify(pathToFileURL('dist/src/local/stack.js').href)});
    const { explain } = await import(${JSON.stringify(pathToFileURL('dist/src/process/lifecycle.js').href)});
    const stack = await startStack(process.env, (line) => console.error(line)).catch((error) => {
      for (const line of explain(error)) console.error(line);
      process.exit(1);
    });
    const keepAlive = setInterval(() => {}, 1000);
    let stopping;
    const stop = () => {
      clearInterval(keepAlive);
      stopping ??= stack.stop();
    };
    process.on('SIGTERM', stop);
    process.stdin.once('end', stop).resume().unref();
    await stack.temporal.ready;
    console.log(JSON.stringify({ env: stack.env, temporalUiUrl: stack.temporalUiUrl }));`;
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...FREE_PORTS, LOCAL_DIR: localDir, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const progress: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => progress.push(line));
  const exited = once(child, 'exit');
  const first = once(createInterface({ input: child.stdout }), 'line');
  const line = await Promise.race([first.then(([text]) => text as string), exited.then(() => undefined)]);
  if (line === undefined) throw new Error(progress.join('\n'));
  return {
    process: child,
    ...(JSON.parse(line) as { env: Record<string, string>; temporalUiUrl: string }),
    progress,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}
