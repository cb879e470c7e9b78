import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../processes.js';
import { atMost, type Row, type Verdict } from '../report.js';
import { percentile } from '../statistics.js';
import type { AbuseSite, EndAttack } from './site.js';
import type { VictimResult } from './victim.js';

export interface Comparison {
  row: Row;
  verdicts: Verdict[];
}

export interface Trial {
  name: string;
  /** Runs the victim for the scenario's time. */
  victim(): Promise<VictimResult>;
  begin(): Promise<EndAttack>;
}

const SAMPLE_MS = 200;
const SETTLE_MS = 3_000;
/** Limits of the victim's p95: a multiple of its p95 without the attack, or a number of ms. */
const [TIMES, AT_LEAST_MS] = [5, 250];
const GROWTH_MIB = 150;
const LARGEST_BYTES = 1_000_000;

/** The victim's delays and the service's memory, without and with the attack. */
export async function compare({ service }: AbuseSite, { name, victim, begin }: Trial): Promise<Comparison> {
  const pid = service.parts.service?.[0] ?? 0;
  const settled = async () => {
    await sleep(SETTLE_MS);
    if (memoryOf(pid) > 0) service.collectGarbage();
    await sleep(1_000);
    return memoryOf(pid);
  };
  await victim();
  const quiet = await victim();
  const before = await settled();
  let most = before;
  const sampling = setInterval(() => {
    most = Math.max(most, memoryOf(pid));
  }, SAMPLE_MS);
  const end = await begin();
  const beside = await victim();
  const { answers, largestBytes } = await end();
  clearInterval(sampling);
  const after = await settled();
  const [p95, p95Beside] = [at(quiet, 0.95), at(beside, 0.95)];
  return {
    row: {
      attack: name,
      'quiet p50 ms': at(quiet, 0.5),
      'p50 ms': at(beside, 0.5),
      'quiet p95 ms': p95,
      'p95 ms': p95Beside,
      'not served': beside.failed,
      'MiB before': before,
      'MiB at most': most,
      'MiB after': after === 0 ? 'ended' : after,
      'largest answer KB': largestBytes / 1_000,
      'attacker was answered': Object.entries(answers)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', '),
    },
    verdicts: [
      atMost(`victim's p95 ms beside ${name}`, p95Beside, Math.max(AT_LEAST_MS, Math.ceil(p95 * TIMES))),
      atMost(`victim's requests not served beside ${name}`, beside.failed, 0),
      atMost(`service's memory, growth in MiB by ${name}`, most - before, GROWTH_MIB),
      atMost(`largest answer in bytes to ${name}`, largestBytes, LARGEST_BYTES),
      ...(after === 0 ? [atMost(`processes ended by ${name}`, 1, 0)] : []),
    ],
  };
}

function at({ delays }: VictimResult, share: number): number {
  return percentile(
    [...delays].sort((a, b) => a - b),
    share,
  );
}
