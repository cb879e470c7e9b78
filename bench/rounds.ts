import { FAULTS, type Figures } from './measure.js';
import type { Row, Section } from './report.js';
import { overRounds } from './statistics.js';

/** What was measured under one name, a round each. */
export type Measured = readonly [what: string, rounds: readonly Figures[]];

/** A table of speed and one of cost, of the medians. */
export function tablesOf(title: string, measured: readonly Measured[]): Section[] {
  const of = (kind: keyof Figures): Pick<Section, 'rows' | 'rounds'> => ({
    rows: measured.map(([what, rounds]) => ({
      what,
      ...overRounds(
        rounds.map((round) => round[kind]),
        FAULTS,
      ),
    })),
    rounds: measured.flatMap(([what, rounds]) => rounds.map((round): Row => ({ what, ...round[kind] }))),
  });
  return [
    { title, ...of('speed') },
    { title: `${title}: cost of an event, memory`, ...of('cost') },
  ];
}

/** One column, round by round. */
export const column = (rounds: readonly Figures[], name: string) =>
  rounds.map(({ speed }) => speed[name] ?? Number.NaN);

/** Side by side, round by round: what another's work took from both cancels out. */
export const ratios = (ours: readonly number[], theirs: readonly number[]) =>
  ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
