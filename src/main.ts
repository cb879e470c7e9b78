import { startApi } from './api.js';
import type { Stack } from './local/stack.js';
import { isConfigured } from './platform/config/config.js';
import { migrate } from './platform/database/migrate.js';
import { connectDatabase, type RoleContext, runRole, type Stop } from './process/bootstrap.js';
import { createDeliveryEngine } from './process/delivery-engine.js';
import { announceReady, untilSignalled } from './process/lifecycle.js';

const print = (line: string) => process.stderr.write(`${line}\n`);

/**
 * The whole service in one process: API and worker, with the embedded stack when no database is configured. Prints
 * `ready <base_url>` on standard output when it serves, and returns when it has ended.
 */
export async function runService(env: NodeJS.ProcessEnv, announce = announceReady): Promise<void> {
  const signalled = untilSignalled();
  const serve = (env: NodeJS.ProcessEnv, stack?: Stack) =>
    runRole(env, 'service', announce, (context, stops) => start(context, stops, stack), signalled);
  if (isConfigured(env)) return serve(env);
  const cancelled = new AbortController();
  void signalled.then(() => cancelled.abort(new Error('cancelled by a signal')));
  const { startStack } = await import('./local/stack.js');
  const stack = await startStack(env, print, cancelled.signal);
  try {
    await serve(stack.env, stack);
  } finally {
    await stack.stop();
  }
}

async function start(context: RoleContext, stops: Stop[], stack?: Stack): Promise<string> {
  const { config, database, log, metrics } = context;
  if (stack) {
    const { writeSandboxClient } = await import('./local/sandbox-client.js');
    await migrate(config.databaseUrl);
    introduce(stack, config.receivers.allowPrivate, await writeSandboxClient(database, stack));
  }
  // The engine has its own connections, so a mass failure of receivers never makes requests wait for one.
  const engineDatabase = connectDatabase(config, log, metrics, 'worker');
  const engine = createDeliveryEngine({ ...context, database: engineDatabase });
  stops.unshift(
    () => engine.stop(),
    () => engineDatabase.close(),
  );
  const known = { worker: engine.temporal, isMissing: () => stack?.temporal.failed === true };
  await startApi(context, stops, engine.handover, known);
  engine.start();
  stack?.temporal.ready.then(
    () => print(temporalUi(stack)),
    // The stack has printed why.
    () => {},
  );
  return config.baseUrl;
}

/** Prints the addresses of the embedded stack on standard error. The credentials themselves stay in their file. */
function introduce(stack: Stack, allowPrivate: boolean, clientPath: string): void {
  print(`API           ${stack.env.BASE_URL}  (reference: ${stack.env.BASE_URL}/docs)`);
  print(`console       ${stack.env.BASE_URL}/console  (sign in with client_id and client_secret of the credentials)`);
  print(`${temporalUi(stack)}  (${stack.temporal.failed ? 'there is no Temporal' : 'Temporal is starting'})`);
  print(`credentials   ${clientPath}`);
  if (allowPrivate) print('receivers     private addresses allowed (ALLOW_PRIVATE_RECEIVERS=true): sandbox only');
}

const temporalUi = ({ temporalUiUrl, env }: Stack) =>
  `Temporal UI   ${temporalUiUrl}/namespaces/${env.TEMPORAL_NAMESPACE}/workflows`;
