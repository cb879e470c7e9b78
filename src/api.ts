import type { Client } from '@temporalio/client';
import { openAuthority } from './auth/open-authority.js';
import { createApp } from './http/app.js';
import { type Listening, listen } from './http/server.js';
import type { Handover } from './outbox/handover.js';
import { notifyHandover } from './outbox/notify.js';
import { temporalSteering } from './outbox/steering.js';
import { type Foundations, layFoundations, readinessOf, serveUntilSignalled } from './process.js';
import { lazyClient } from './temporal/connection.js';

/** Opens the HTTP API on what there is, and listens. */
export async function startApi(
  foundations: Foundations,
  handover: Handover,
  temporal: () => Client | undefined,
): Promise<Listening> {
  const { config } = foundations;
  const authority = openAuthority(foundations);
  const app = createApp({
    ...foundations,
    handover,
    authority,
    steering: temporalSteering(temporal, config.retryDelays),
    readiness: readinessOf(foundations, temporal, false),
  });
  await authority.prepare().catch((error: unknown) => {
    // Postgres may be away at the start; keys are read when they are needed.
    foundations.log.warn({ err: error }, 'the signing keys could not be read yet');
  });
  const listening = await listen(app, config);
  return {
    port: listening.port,
    async close() {
      await listening.close();
      await authority.close();
    },
  };
}

/** The role `api`: accepts changes and leaves deliveries to workers. Prints `ready <base_url>` when it serves. */
export async function runApi(env: NodeJS.ProcessEnv): Promise<void> {
  const foundations = layFoundations(env, 'api');
  const { config, database, log } = foundations;
  const client = lazyClient(config.temporal);
  const handover = notifyHandover(database, log);
  const api = await startApi(foundations, handover, () => client);
  console.log(`ready ${config.baseUrl}`);
  await serveUntilSignalled(log, [
    () => api.close(),
    () => handover.flush(),
    () => client.connection.close(),
    () => database.close(),
  ]);
}
