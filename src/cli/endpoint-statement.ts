import type { Command } from 'commander';
import { MAX_WINDOW_DAYS } from '../webhooks/window.js';
import { idOf, parseSince } from './arguments.js';
import { setAction } from './command.js';

/** Adds `endpoints statement`: what became of the events of a window at one endpoint. */
export function addStatement(endpoints: Command): void {
  setAction(
    endpoints
      .command('statement')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .option(
        '--since <time>',
        'start of the window: 24h (ago), or 2026-11-21T10:00:00Z; default: 24h, or the registration if that is later',
        parseSince,
      )
      .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
      .description(`count what became of the events of a window of up to ${MAX_WINDOW_DAYS} days`),
    async () => (await import('./actions/endpoint-statement.js')).statement,
  );
}
