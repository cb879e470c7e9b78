import { personHere } from '../../audit/actor.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../check-cases.js';
import { presentCheck } from '../../http/presenters/receiver-check.js';
import type { CheckRecord } from '../../receiver-checks/read-check.js';
import { checkFromOutside } from '../../workflow-starts/check-from-outside.js';
import type { CommandResult } from '../command.js';
import type { View } from '../view/view.js';
import { withDatabase } from '../with-database.js';

/** `endpoints check` */
export async function check(id: string): Promise<CommandResult> {
  const found = await withDatabase((database, environment) =>
    checkFromOutside(database, environment, personHere(), id),
  );
  return {
    json: { webhookId: id, client_id: found.clientId, ...presentCheck(found, false) },
    text: view(found),
    failure: failureOf(found),
  };
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
