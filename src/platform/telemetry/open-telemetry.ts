import { DiagLogLevel, diag } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { within } from '../deadline.js';
import type { Log } from './log.js';
import { createSampler, type Sampling } from './sampler.js';

/** The end of a process waits for its last spans for at most this, ms. */
const FLUSH = 5_000;

/**
 * Starts OpenTelemetry's SDK, configured by its own environment variables (`OTEL_…`: endpoint, headers, resource). Call
 * it once in a process: every tracer of its API uses this SDK.
 * @returns sends the waiting spans, and ends tracing
 */
export function startOpenTelemetry(
  { environment, sampling }: { environment: string; sampling: Sampling },
  role: string,
  log: Log,
): () => Promise<void> {
  const warn = (message: string) => log.warn({ otel: true }, message);
  const silent = () => {};
  // Only the message is logged: the SDK's further arguments may hold the exporter's headers.
  diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent }, DiagLogLevel.WARN);
  const ours = resourceFromAttributes({
    'service.name': role === 'service' ? 'transfer-service' : `transfer-service-${role}`,
    'service.namespace': 'transfer-service',
    'deployment.environment.name': environment,
  });
  const provider = new NodeTracerProvider({
    resource: defaultResource()
      .merge(ours)
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: createSampler(sampling),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  provider.register();
  return async () => {
    await within(FLUSH, provider.shutdown()).catch(() => log.warn('the last spans could not be sent'));
  };
}
