import { z } from 'zod';
import { networks, port } from './forms.js';
import { setting } from './setting.js';

const collector = z
  .string()
  .refine(
    (text) => /^https?:\/\//.test(text) && URL.canParse(text),
    'give an http(s) URL, such as http://localhost:4318',
  );

/** The samplers of OpenTelemetry's SDK. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** Metrics, traces and logs. */
export const telemetrySettings = {
  METRICS_PORT: setting(
    port,
    undefined,
    "Port of `/metrics`, `/healthz` and `/readyz` of any role, for the operator's own machines. Unset: no port.",
  ),
  METRICS_ALLOWED_NETWORKS: setting(networks, '127.0.0.0/8,::1/128', 'CIDRs that may connect to `METRICS_PORT`.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    collector,
    undefined,
    "OTLP/HTTP URL of the OpenTelemetry collector that receives the traces, such as http://localhost:4318. Unset: no traces. OpenTelemetry's other `OTEL_…` variables apply too.",
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    collector,
    undefined,
    'The same with the full path, such as http://localhost:4318/v1/traces.',
  ),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(SAMPLERS, { error: `give ${SAMPLERS.join(', ')}` }),
    'parentbased_always_on',
    'Sampler of the traces. `parentbased_traceidratio` keeps a share of them.',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(
    z.coerce
      .number({ error: 'give a share from 0 to 1' })
      .min(0, 'give a share from 0 to 1')
      .max(1, 'give a share from 0 to 1'),
    undefined,
    'Share of the traces that `parentbased_traceidratio` keeps, from 0 to 1.',
  ),
  LOG_LEVEL: setting(
    z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      error: 'give trace, debug, info, warn, error or silent',
    }),
    'info',
    'Lowest level that is logged (JSON lines on standard error).',
  ),
} as const;
