import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TransferServiceClient } from '../../clients/typescript/src/client.js';
import { readEnvironment } from '../platform/config/config.js';
import { readPrivateJson } from './stack-state.js';

/** The part of `LOCAL_DIR/sandbox-client.json` that the demo reads. */
export type SandboxClient = Record<
  'auth_url' | 'base_url' | 'client_id' | 'client_secret' | 'database_url' | 'temporal_namespace' | 'temporal_ui_url',
  string
>;

/** Starts the service as `npm start` does. It ends with this process, unless this process is killed. */
export async function startService(stops: (() => Promise<unknown>)[]) {
  const service = spawn(process.execPath, [fileURLToPath(new URL('../cli.js', import.meta.url)), 'start'], {
    // Ctrl-C must not reach the service: the demo ends it once.
    detached: true,
    env: { LOG_LEVEL: 'error', ...process.env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(service, 'exit');
  process.once('exit', () => service.kill('SIGTERM'));
  stops.push(() => {
    service.kill('SIGTERM');
    return exited;
  });
  const ended = exited.then(() => Promise.reject(new Error('the service ended before it was ready')));
  await Promise.race([once(service.stdout, 'data'), ended]);
  const { LOCAL_DIR } = readEnvironment(process.env);
  const sandbox = readPrivateJson(join(LOCAL_DIR, 'sandbox-client.json')) as SandboxClient;
  const { auth_url: authUrl, base_url: baseUrl, client_id: clientId, client_secret: clientSecret } = sandbox;
  return { sandbox, client: new TransferServiceClient({ authUrl, baseUrl, clientId, clientSecret }) };
}
