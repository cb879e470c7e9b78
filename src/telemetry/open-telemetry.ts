import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { within } from '../time-limit.js';
import type { Log } from './log.js';

/** What is left is worth a process's end being late by so much, ms. */
const FLUSH = 5_000;

/** Sends the spans that wait, and ends tracing. */
export type StopTracing = () => Promise<void>;

/**
 * OpenTelemetry's SDK, as its own environment variables say (`OTEL_…`: endpoint, headers, sampler, resource). Once in a
 * process: everything that asks its API for a tracer gets this one.
 */
export function startOpenTelemetry(environment: string, role: string, log: Log): StopTracing {
  const complain = (message: string) => log.warn({ otel: true }, message);
  const silent = () => {};
  // Whatever else the SDK hands over may hold the exporter's headers.
  diag.setLogger({ error: complain, warn: complain, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  const ours = resourceFromAttributes({
    'service.name': role === 'service' ? 'transfer-service' : `transfer-service-${role}`,
    'service.namespace': 'transfer-service',
    'deployment.environment.name': environment,
  });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(ours)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return async () => {
    await within(FLUSH, provider.shutdown()).catch(() => log.warn('the last spans could not be sent'));
  };
}
