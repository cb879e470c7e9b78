import { randomUUID } from 'node:crypto';
import { openAuthority } from './auth/authority.js';
import { consoleExtension } from './console/router.js';
import type { Handover } from './delivery/handover.js';
import { notifyHandover } from './delivery/notifications.js';
import { createApp } from './http/app.js';
import { listenForOperators } from './http/operations.js';
import { listen, toConfigError } from './http/server.js';
import { ConfigError } from './platform/config/config-error.js';
import { EnvelopeError } from './platform/database/encryption.js';
import { Heartbeat } from './platform/heartbeat.js';
import { type RoleContext, runRole, type Stop } from './process/bootstrap.js';
import { announceReady } from './process/lifecycle.js';
import { type KnownTemporal, readinessOf } from './process/readiness.js';

/** Assembles the HTTP API and listens. */
export async function startApi(context: RoleContext, stops: Stop[], handover: Handover, temporal?: KnownTemporal) {
  const { config, database, log } = context;
  const readiness = readinessOf(context, temporal);
  const authority = openAuthority(context);
  const heartbeat = new Heartbeat({ db: database, table: 'apis', id: randomUUID(), log });
  stops.unshift(() => heartbeat.stop());
  const dependencies = { ...context, handover, authority, readiness, liveApis: () => heartbeat.count };
  const app = createApp(dependencies, consoleExtension);
  await authority.prepare().catch((error: unknown) => {
    if (error instanceof EnvelopeError) throw new ConfigError([`MASTER_KEY: a signing key ${error.message}`]);
    // Postgres may be unavailable at start. The keys are read again when they are needed.
    log.warn({ err: error }, 'the signing keys could not be read yet');
  });
  const operations = await listenForOperators(context, readiness);
  stops.unshift(() => operations.close());
  const listening = await listen(app, config).catch(toConfigError('PORT'));
  stops.unshift(() => listening.close(config.shutdownDelay));
  heartbeat.start();
}

/** The role `api`: accepts changes. Workers make the deliveries. Prints `ready <base_url>` when it serves. */
export async function runApi(env: NodeJS.ProcessEnv, announce = announceReady): Promise<void> {
  await runRole(env, 'api', announce, async (context, stops) => {
    const { config, database, log } = context;
    const handover = notifyHandover(database, config.retryDelays, log);
    stops.unshift(() => handover.flush());
    await startApi(context, stops, handover);
    return config.baseUrl;
  });
}
