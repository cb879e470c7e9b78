import type { Command } from 'commander';
import { setAction } from './command.js';

/** `doctor`: checks the dependencies of the service. */
export function addDoctor(program: Command): void {
  setAction(
    program
      .command('doctor')
      .description('check the configuration, Postgres, Temporal and the clocks; reports what to fix'),
    async () => (await import('./actions/doctor.js')).doctor,
  );
}
