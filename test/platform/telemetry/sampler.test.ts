import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { SamplingDecision } from '@opentelemetry/sdk-trace-node';
import { loadConfig } from '../../../src/platform/config/config.js';
import { createSampler } from '../../../src/platform/telemetry/sampler.js';
import { SANDBOX } from '../../support/configuration.js';

const { RECORD_AND_SAMPLED, NOT_RECORD } = SamplingDecision;
// The least trace id, which every ratio keeps.
const IDS = { traceId: '00000000000000000000000000000001', spanId: 'b7ad6b7169203331' };
const [OFF, ON] = [0, 1];

/** What `sampler` decides for a span. @param flag of the span that it continues; undefined: it begins a trace */
function decide(sampler: string, kind: SpanKind, flag?: number, isRemote = true): SamplingDecision {
  const env = { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: sampler.endsWith('ratio') ? '0' : '' };
  const context =
    flag === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...IDS, traceFlags: flag, isRemote });
  const { sampling } = loadConfig({ ...SANDBOX, ...env });
  return createSampler(sampling).shouldSample(context, IDS.traceId, 'span', kind, {}, []).decision;
}

it.each([
  ['parentbased_always_on', OFF, RECORD_AND_SAMPLED],
  ['parentbased_always_off', ON, NOT_RECORD],
  ['parentbased_traceidratio', ON, NOT_RECORD],
  ['traceidratio', ON, NOT_RECORD],
  ['always_on', OFF, RECORD_AND_SAMPLED],
  ['always_off', ON, NOT_RECORD],
])('%s decides about a request as if it had no traceparent, whatever its flag says (%d)', (sampler, flag, decision) => {
  expect(decide(sampler, SpanKind.SERVER, flag)).toBe(decision);
  expect(decide(sampler, SpanKind.SERVER)).toBe(decision);
});
