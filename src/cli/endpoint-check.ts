import type { Command } from 'commander';
import { idOf } from './arguments.js';
import { setAction } from './command.js';

/** Adds `endpoints check`: sends the nine requests of a check and shows the report. */
export function addCheck(endpoints: Command): void {
  setAction(
    endpoints
      .command('check')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .description('check in the sandbox what a receiver accepts and refuses; exits with 1 if a case fails'),
    async () => (await import('./actions/endpoint-check.js')).check,
  );
}
