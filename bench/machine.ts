import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** The machine that the figures were measured on. */
export interface Machine {
  cpu: string;
  cores: number;
  memoryGib: number;
  node: string;
  /** Load average of the last minute. Other work on the machine distorts the absolute figures. */
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
