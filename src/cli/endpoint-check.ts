import type { Command } from 'commander';
import { personHere } from '../audit/actor.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../check-cases.js';
import { presentCheck } from '../http/presenters/receiver-check.js';
import type { CheckRecord } from '../receiver-checks/read-check.js';
import { idOf } from './arguments.js';
import { setAction } from './command.js';
import type { View } from './view/view.js';
import { withDatabase } from './with-database.js';

/** Adds `endpoints check`: sends the nine requests of a check and shows the report. */
export function addCheck(endpoints: Command): void {
  setAction(
    endpoints
      .command('check')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .description('check in the sandbox what a receiver accepts and refuses; exits with 1 if a case fails'),
    async (id: string) => {
      const check = await withDatabase(async (database, environment) => {
        // Loading this module dominates the start of a command, so only the command that needs it loads it.
        const { checkFromOutside } = await import('../workflow-starts/check-from-outside.js');
        return checkFromOutside(database, environment, personHere(), id);
      });
      return {
        json: { webhookId: id, client_id: check.clientId, ...presentCheck(check, false) },
        text: view(check),
        failure: failureOf(check),
      };
    },
  );
}

function view({ id, endpointId, status, cases }: CheckRecord): View {
  const passed = cases.filter((one) => one.passed).length;
  return [
    {
      fields: [
        ['check', id],
        ['endpoint', endpointId],
        ['status', `${status}: ${passed} of ${CHECK_CASE_NAMES.length} cases passed`],
      ],
    },
    {
      columns: [
        { name: 'case' },
        { name: 'result' },
        { name: 'expected' },
        { name: 'response' },
        { name: 'what to change', wraps: true },
      ],
      rows: cases.map((one) => [
        one.name,
        one.passed ? 'passed' : 'failed',
        CHECK_CASES[one.name as CheckCase],
        one.responseStatus ?? one.error,
        one.hint,
      ]),
      none: 'no cases',
    },
  ];
}

function failureOf({ cases }: CheckRecord): string | undefined {
  const failed = cases.filter(({ passed }) => !passed).map(({ name }) => name);
  if (failed.length === 0) return undefined;
  return `${failed.length} of ${CHECK_CASE_NAMES.length} cases failed: ${failed.join(', ')}`;
}
