import type { FloorFigures } from './floor/measure-floor.js';
import { FAULTS, type Figures } from './measure.js';
import type { Row, Section } from './report.js';
import { overRounds } from './statistics.js';

/** The figures of each round under one name. */
export type Measured = readonly [what: string, rounds: readonly Figures[]];

/** Makes a table of speed and a table of cost from the medians. */
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

/** Makes the table of floors from the medians. */
export function floorTable(
  title: string,
  measured: readonly (readonly [what: string, rounds: readonly FloorFigures[]])[],
): Section {
  return {
    title,
    rows: measured.map(([what, rounds]) => ({ what, ...overRounds(rounds) })),
    rounds: measured.flatMap(([what, rounds]) => rounds.map((round) => ({ what, ...round }))),
  };
}

/** CPU ms of an event in all of these processes, round by round. Those that did not run count as 0. */
export const cpuOfEvents = (rounds: readonly Record<string, number>[], processes: readonly string[]) =>
  rounds.map((round) => sumOf(processes.map((name) => round[`${name} ms`] ?? 0)));

export const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** One column, round by round. */
export const column = (rounds: readonly Figures[], name: string) =>
  rounds.map(({ speed }) => speed[name] ?? Number.NaN);

/** Events a second, round by round. */
export const floorRates = (rounds: readonly FloorFigures[]) => rounds.map((round) => round['events/s']);

/** Ratios round by round. Other work on the machine affects both and cancels out. */
export const ratios = (ours: readonly number[], theirs: readonly number[]) =>
  ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
