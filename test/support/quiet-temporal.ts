import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';

/** The SDK's own log, errors alone; to be imported before a worker is made. */
Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});
