import type { z } from 'zod';
import { isConclusive } from '../../../checks/hints.js';
import type { receiverCheckView } from '../../../http/schemas/receiver-check.js';
import { Refusal } from '../../../platform/refusal.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../../platform/vocabulary.js';
import { Live, PostButton } from '../../components/parts.js';
import { UntrustedLines } from '../../components/values.js';
import { isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, endpointForm, endpointPage } from './endpoint.js';
import { Trouble } from './state.js';

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
          {check?.status !== 'running' && (
            <Start endpoint={endpoint} again={check !== undefined} editor={isEditor(visit)} />
          )}
        </Live>
      </>
    );
  },
});

function Start({ endpoint, again, editor }: { endpoint: Endpoint; again: boolean; editor: boolean }) {
  if (!editor) return again ? null : <p class="muted">Your session is view only. An editor starts the check.</p>;
  if (!endpoint.enabled) return <Trouble endpoint={endpoint} health={undefined} editor />;
  return (
    <PostButton action={`${endpointPath(endpoint.webhookId)}/check`} class={again ? undefined : 'primary'}>
      {again ? 'Check again' : 'Check the receiver'}
    </PostButton>
  );
}

const start = endpointForm('check', checkPage, async ({ operations, params: { webhookId } }) => {
  const { id } = await operations.change<{ id: string }>('checkReceiver', { params: { webhookId } });
  return seeOther(`${endpointPath(webhookId)}/check?id=${id}`);
});

export const checkPages = [checkPage, start];

type Case = Check['cases'][number];

/** What each request tests. */
const MEANINGS: Readonly<Record<CheckCase, string>> = {
  valid: 'a correct delivery',
  duplicate: 'the same event again',
  out_of_order: 'an older event after a newer one',
  unknown_type: 'an event type that may be added later',
  unknown_field: 'a field that may be added later',
  stale_timestamp: 'a correct signature, but six minutes old',
  wrong_secret: 'signed with another secret',
  changed_body: 'one byte changed after signing',
  missing_signature: 'no signature',
};

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
  const conclusive = cases.filter(({ name }) => isConclusive(name, cases));
  const passed = `${conclusive.filter((one) => one.passed).length} of ${all} cases passed`;
  const open = cases.length - conclusive.length;
  return `Failed: ${passed}${open > 0 ? `, and ${open} ${open === 1 ? 'is' : 'are'} inconclusive because your receiver accepts nothing` : ''}`;
}

function CaseItem({ name, check }: { name: CheckCase; check: Check }) {
  const made = check.cases.find((one) => one.name === name);
  return (
    <li class="card stack">
      <div class="row between">
        <span>
          <strong class="mono">{name}</strong> <span class="muted">{MEANINGS[name]}</span>
        </span>
        <Result made={made} check={check} />
      </div>
      <p class="muted">
        Expected: {CHECK_CASES[name] === '2xx' ? 'a 2xx' : 'any other response'}.{' '}
        {made && `Received: ${responseOf(made)}.`}
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

const responseOf = ({ response_status, error }: Case) => response_status ?? `no response (${error})`;

function requestText({ headers, body }: NonNullable<Case['request']>): string {
  return [...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');
}
