import { parseArgs } from 'node:util';
import { WORKFLOW_MODES, type WorkflowMode } from '../../src/platform/config/config.js';
import { parseDuration } from '../../src/platform/duration.js';
import { TEMPORAL_KINDS, type TemporalKind } from '../servers.js';

export interface SoakOptions {
  minutes: number;
  /** Changes a second. */
  rate: number;
  /** ms */
  retention: number;
  workflows: WorkflowMode;
  temporal: TemporalKind;
  /** Maximum growth of a part's memory, MiB an hour. */
  growth: number;
  json: string | undefined;
}

const MINUTE = 60_000;

export const USAGE = `npm run soak -- [--minutes 60] [--rate 22] [--retention 10m] [--workflows every-event|retries-only]
                  [--temporal dev|postgres] [--growth MIB_AN_HOUR] [--json FILE]

A steady load with retention at work. 22 changes a second are half of what two cores sustain with a workflow for each
event (docs/performance.md). By default retention is a sixth of the minutes.`;

/** @throws Error of one line that names the option */
export function readSoakOptions(args: readonly string[]): SoakOptions | 'help' {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...{ minutes: text, rate: text, retention: text, workflows: text, temporal: text, growth: text, json: text },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return 'help';
  const minutes = positive('minutes', values.minutes ?? '60');
  const retention = values.retention ? parseDuration(values.retention) : Math.max(1, Math.round(minutes / 6)) * MINUTE;
  if (!retention || retention < MINUTE || retention > (minutes * MINUTE) / 2)
    throw new Error('--retention: give from 1m to half of the minutes, so that retention has something to remove');
  const workflows = WORKFLOW_MODES.find((mode) => mode === (values.workflows ?? 'every-event'));
  if (!workflows) throw new Error(`--workflows: give one of ${WORKFLOW_MODES.join(', ')}`);
  const temporal = TEMPORAL_KINDS.find((kind) => kind === (values.temporal ?? 'dev'));
  if (!temporal) throw new Error(`--temporal: give one of ${TEMPORAL_KINDS.join(', ')}`);
  return {
    minutes,
    rate: positive('rate', values.rate ?? '22'),
    retention,
    workflows,
    temporal,
    growth: positive('growth', values.growth ?? '40'),
    json: values.json,
  };
}

function positive(option: string, text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Error(`--${option}: give a whole number from 1, not ${text}`);
  return Number(text);
}
