import { Refusal } from '../../../refusal.js';
import { page, type RefusedForm, RefusedView, type Visit } from '../../page.js';
import { type Endpoint, isEditor, pathOf, READ, readEndpoint } from './endpoint.js';
import { EndpointHead } from './head.js';
import { type Statement, StatementView } from './statement-view.js';
import { WindowFields, windowOf } from './window-fields.js';

/** A statement, or why there is none. */
export interface AskedStatement {
  statement?: Statement;
  refused?: RefusedForm;
}

/** Asks for the statement of the window in `fields`. A refusal is a value: the page shows it above its form. */
export async function askStatement(visit: Visit<'webhookId'>, fields: URLSearchParams): Promise<AskedStatement> {
  const { webhookId } = visit.params;
  try {
    const request = { params: { webhookId }, query: windowOf(fields), limitsItself: true } as const;
    return { statement: await visit.operations.read<Statement>('getWebhookEndpointStatement', request) };
  } catch (error) {
    if (!(error instanceof Refusal) || error.code === 'not_found') throw error;
    return { refused: { path: `${pathOf(webhookId)}/statement`, refusal: atFields(error), fields } };
  }
}

/** The errors of a query stand at the fields of the same names. */
function atFields(refusal: Refusal): Refusal {
  const errors = refusal.errors.map(({ parameter, ...error }) => ({ ...error, pointer: `/${parameter}` }));
  return new Refusal(refusal.code, refusal.message, errors);
}

const statementPage = page({
  path: '/console/endpoints/{webhookId}/statement',
  scope: READ,
  points: 4,
  title: 'Statement',
  async view(visit) {
    const endpoint = await readEndpoint(visit);
    const asked: AskedStatement = visit.query.has('since') ? await askStatement(visit, visit.query) : {};
    const content = (
      <>
        <EndpointHead endpoint={endpoint} here="statement" visit={visit} />
        <p>
          A statement counts what became of every event of a window, which shows whether your system has everything.
        </p>
        {asked.refused && (
          <p class="error" role="alert">
            {asked.refused.refusal.message}
          </p>
        )}
        <form class="card" method="get" action={`${pathOf(endpoint.webhookId)}/statement`}>
          <WindowFields
            since={visit.query.get('since') ?? ''}
            sinceHint="Empty: from 24 hours ago, or from the registration if that is later."
            until={visit.query.get('until') ?? ''}
            refused={asked.refused}
          />
          <button type="submit" class="primary">
            Make the statement
          </button>
        </form>
        {asked.statement && <Result statement={asked.statement} endpoint={endpoint} visit={visit} />}
      </>
    );
    return asked.refused ? new RefusedView(asked.refused.refusal, content) : content;
  },
});

function Result({ statement, endpoint, visit }: { statement: Statement; endpoint: Endpoint; visit: Visit }) {
  const { failed, cancelled, missing, since, until } = statement;
  const recoverable = failed + cancelled + missing > 0 && isEditor(visit);
  const query = new URLSearchParams({ since: since.slice(0, 19), until: until.slice(0, 19) });
  return (
    <>
      <StatementView statement={statement} now={new Date()} />
      {recoverable && (
        <p>
          <a class="button" href={`${pathOf(endpoint.webhookId)}/recover?${query}`}>
            Recover what has not arrived
          </a>
        </p>
      )}
    </>
  );
}

export const statementPages = [statementPage];
