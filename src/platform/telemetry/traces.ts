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

const tracer = trace.getTracer('transfer-service');

interface SpanPlan {
  kind: SpanKind;
  /** Never a path, a query, a body or a secret. */
  attributes: Attributes;
  /** The parent span in W3C's form; null: the span begins a trace. */
  traceparent: string | null;
}

/**
 * Runs `work` in a span. The caller names the parent. The active span is not used as the parent, because a job often
 * starts when another job releases its slot, and that job's span is then active.
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
      // Only the name: a message may hold secret data.
      span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The active span in W3C's form, so that another process continues the trace; null when nothing is traced. */
export function currentTraceparent(): string | null {
  const carrier: { traceparent?: string } = {};
  propagation.inject(context.active(), carrier);
  return carrier.traceparent ?? null;
}

/** The trace id of the active span, for a log line; undefined when nothing is traced. */
export function currentTraceId(): string | undefined {
  return trace.getActiveSpan()?.spanContext().traceId;
}
