import type { z } from 'zod';
import { isConclusive } from '../../../../clients/typescript/src/check/hints.js';
import type { receiverCheckView } from '../../../http/schemas/receiver-check.js';
import { Refusal } from '../../../platform/refusal.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../../platform/vocabulary.js';
import { Live, PostButton } from '../../components/parts.js';
import { UntrustedLines } from '../../components/values.js';
import { isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { endpointForm, endpointPage } from './endpoint.js';

export type Check = z.output<typeof receiverCheckView>;

const checkPage = endpointPage('check', {
  points: 3,
  async view({ visit, endpoint, path }) {
    if (visit.config.environment !== 'sandbox') throw new Refusal('not_found', 'Only the sandbox checks receivers.');
    const id = visit.query.get('id');
    const check =
      id === null
        ? undefined
        : await visit.operations.read<Check>('getReceiverCheck', { params: { webhookId: endpoint.webhookId, id } });
    return (
      <>
        <p>
          Nine requests are sent to your receiver: five that it should accept, and four with a wrong signature that it
          should reject. A check never modifies the endpoint and creates no event.
        </p>
        <Live id="check" class="stack" path={`${path}/check`} query={visit.query}>
          {check && <CheckReport check={check} />}
          {check?.status !== 'running' && isEditor(visit) && (
            <PostButton action={`${path}/check`} class="primary">
              Check the receiver
            </PostButton>
          )}
        </Live>
      </>
    );
  },
});

const start = endpointForm('check', checkPage, async ({ operations, params: { webhookId } }) => {
  const { id } = await operations.change<{ id: string }>('checkReceiver', { params: { webhookId } });
  return seeOther(`${endpointPath(webhookId)}/check?id=${id}`);
});

export const checkPages = [checkPage, start];

type Case = Check['cases'][number];

/** The nine cases of a check: the expected response, the receiver's, and what to change. */
export function CheckReport({ check }: { check: Check }) {
  return (
    <section class="stack" aria-label="Report">
      <h2 class={TONES[check.status]} data-announce={headline(check)}>
        {headline(check)}
      </h2>
      <ol class="stack">
        {CHECK_CASE_NAMES.map((name) => (
          <CaseItem key={name} name={name} check={check} />
        ))}
      </ol>
    </section>
  );
}

const TONES = { running: undefined, passed: 'good-text', failed: 'bad-text' } as const;

function headline({ status, cases }: Check): string {
  const all = CHECK_CASE_NAMES.length;
  if (status === 'running') return `Running: ${cases.length} of ${all} requests were sent`;
  if (status === 'passed') return `Passed: your receiver handles all ${all} cases correctly`;
  const passed = cases.filter((one) => one.passed && isConclusive(one.name, cases));
  return `Failed: ${passed.length} of ${all} cases passed`;
}

function CaseItem({ name, check }: { name: CheckCase; check: Check }) {
  const made = check.cases.find((one) => one.name === name);
  return (
    <li class="card stack">
      <div class="row between">
        <strong class="mono">{name}</strong>
        <Result made={made} check={check} />
      </div>
      <p class="muted">
        Expected: {CHECK_CASES[name] === '2xx' ? 'a 2xx' : 'any other response'}.{' '}
        {made && `Received: ${made.response_status ?? `no response (${made.error})`}.`}
      </p>
      {made?.hint && <p class={made.passed ? undefined : 'bad-text'}>{made.hint}</p>}
      {made?.request && (
        <details>
          <summary>The request</summary>
          <UntrustedLines label={`The request of ${name}`} text={requestText(made.request)} />
        </details>
      )}
    </li>
  );
}

function Result({ made, check: { status, cases } }: { made: Case | undefined; check: Check }) {
  if (!made) return <span class="badge">{status === 'running' ? 'pending' : 'not sent'}</span>;
  if (!isConclusive(made.name, cases)) return <span class="badge warn">inconclusive</span>;
  return made.passed ? <span class="badge good">passed</span> : <span class="badge bad">failed</span>;
}

function requestText({ headers, body }: NonNullable<Case['request']>): string {
  return [...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');
}
