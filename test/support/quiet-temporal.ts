import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';

/** Limits the SDK's own log to errors. Import this before a worker is made. */
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});
