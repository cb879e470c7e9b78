import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** What the figures were taken on. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGib: number;
  node: string;
  /** Of the last minute; what other work there was spoils the absolute figures. */
  loadBefore: number;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}
