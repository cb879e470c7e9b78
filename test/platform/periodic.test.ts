import { Periodic } from '../../src/platform/periodic.js';
import { waitFor } from '../support/wait-for.js';

const HOUR = 3_600_000;

function open(run: () => Promise<void>, interval = HOUR) {
  const faults: unknown[] = [];
  const periodic = new Periodic({ interval, run, onFault: (error) => void faults.push(error) });
  return { periodic, faults };
}

describe('Periodic', () => {
  it('runs only when it is due, and reports the fault of the question', async () => {
    let runs = 0;
    let due: boolean | undefined;
    const faults: unknown[] = [];
    const periodic = new Periodic({
      ...{ interval: 5, run: async () => void runs++, onFault: (error) => void faults.push(error) },
      isDue: async () => {
        if (due === undefined) throw new Error('Postgres is unavailable');
        return due;
      },
    });
    periodic.start();
    await waitFor('two faults', () => faults.length > 1);
    due = false;
    expect(runs).toBe(0);
    due = true;
    await waitFor('a run', () => runs > 0);
    await periodic.stop();
  });

  it('runs once more for the requests that arrive during a run, and never twice at once', async () => {
    const ends: (() => void)[] = [];
    const { periodic } = open(() => new Promise((resolve) => ends.push(resolve)));
    periodic.request();
    periodic.request();
    periodic.request();
    expect(ends).toHaveLength(1);
    ends[0]!();
    await waitFor('the second run', () => ends.length === 2);
    ends[1]!();
    await periodic.stop();
    expect(ends).toHaveLength(2);
  });

  it('reports the error of a run, and runs again on request', async () => {
    let runs = 0;
    const { periodic, faults } = open(async () => {
      runs++;
      throw new Error('Postgres is unavailable');
    });
    periodic.request();
    await waitFor('the fault', () => faults.length === 1);
    periodic.request();
    await waitFor('the second run', () => runs === 2);
    await periodic.stop();
  });

  it('waits at its stop for the run in progress, and starts no run after it', async () => {
    let runs = 0;
    let end = () => {};
    const { periodic } = open(() => {
      runs++;
      return new Promise((resolve) => (end = resolve));
    });
    periodic.request();
    periodic.request();
    let stopped = false;
    const stopping = periodic.stop().then(() => (stopped = true));
    await Promise.resolve();
    expect(stopped).toBe(false);
    end();
    await stopping;
    periodic.request();
    expect(runs).toBe(1);
  });
});
