import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

/** Gives spans that are nothing until `startTracing` has found somewhere to send them. */
const tracer = trace.getTracer('transfer-service');

export interface SpanPlan {
  kind: SpanKind;
  /** Never a path, a query, a body or a secret. */
  attributes: Attributes;
  /** Of the span that it belongs under, in W3C's form; null: none, it begins a trace. */
  traceparent: string | null;
}

/**
 * Runs `work` in a span. Its parent is named, never the one that happens to be active: work is taken up by whoever has a
 * place for it, often in the middle of another's.
 */
export function inSpan<T>(
  name: string,
  { kind, attributes, traceparent }: SpanPlan,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const parent = traceparent === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, { traceparent });
  return tracer.startActiveSpan(name, { kind, attributes }, parent, async (span) => {
    try {
      return await work(span);
    } catch (error) {
      // The name alone: a message may hold anything.
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The active span in W3C's form, to go on from elsewhere; null where nothing is traced. */
export function currentTraceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}

/** The trace of the active span, for a log line; undefined where nothing is traced. */
export function currentTraceId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().traceId;
}
