import { type Context, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { type Sampler, SamplingDecision } from '@opentelemetry/sdk-trace-node';

/** Which traces are kept. */
export interface Sampling {
  /** 0 to 1, of the traces that begin here. */
  share: number;
  /** A later span is kept if the span that it continues is. Otherwise `share` decides for each. */
  followsParent: boolean;
}

/**
 * Keeps a share of the traces, each with all spans, across processes (`events.traceparent`). A request continues the
 * caller's trace, but neither the caller's flag nor the trace id that it chose decides whether the trace is kept:
 * otherwise a client hides its requests, or fills the collector.
 */
export function createSampler({ share, followsParent }: Sampling): Sampler {
  return {
    shouldSample(context: Context, _traceId: string, _name: string, kind: SpanKind) {
      const parent = trace.getSpanContext(context);
      const isCaller = kind === SpanKind.SERVER && parent?.isRemote === true;
      const kept =
        followsParent && parent && !isCaller ? (parent.traceFlags & TraceFlags.SAMPLED) !== 0 : Math.random() < share;
      return { decision: kept ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
    },
    toString: () => `share ${share}`,
  };
}
