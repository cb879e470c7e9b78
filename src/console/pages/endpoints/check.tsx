import type { z } from 'zod';
import type { receiverCheckView } from '../../../http/schemas/receiver-check.js';
import { Refusal } from '../../../platform/refusal.js';
import { CHECK_CASE_NAMES, CHECK_CASES, type CheckCase } from '../../../platform/vocabulary.js';
import { PostButton } from '../../components/forms.js';
import { Live } from '../../components/parts.js';
import { UntrustedLines } from '../../components/values.js';
import { isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, endpointForm, endpointPage } from './endpoint.js';

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
          Nine requests go to your receiver as every delivery does: five that it should accept, and four that it should
          refuse because their signature is not right. Nothing of the endpoint changes, and no event is made.
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
  if (!endpoint.enabled) return <p class="caution">The endpoint is disabled. Enable it to check its receiver.</p>;
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

/** What each request tries. */
const MEANINGS: Readonly<Record<CheckCase, string>> = {
  valid: 'a delivery as it should be',
  duplicate: 'the same event again',
  out_of_order: 'an event older than the one before',
  unknown_type: 'a type of event that may come one day',
  unknown_field: 'a field that may come one day',
  stale_timestamp: 'signed rightly, but six minutes ago',
  wrong_secret: 'signed with another secret',
  changed_body: 'one byte changed after signing',
  missing_signature: 'no signature',
};

/** The nine cases of a check: what was expected, what the receiver did, and what to change. */
export function CheckReport({ check }: { check: Check }) {
  const made = new Map(check.cases.map((one) => [one.name, one]));
  return (
    <section class="stack" aria-label="Report">
      <h2 class={TONES[check.status]} data-announce={headline(check)}>
        {headline(check)}
      </h2>
      <ol class="check-cases">
        {CHECK_CASE_NAMES.map((name) => (
          <CaseItem key={name} name={name} made={made.get(name)} running={check.status === 'running'} />
        ))}
      </ol>
    </section>
  );
}

const TONES = { running: undefined, passed: 'good-text', failed: 'bad-text' } as const;

function headline({ status, cases }: Check): string {
  const passed = cases.filter((one) => one.passed).length;
  if (status === 'running') return `Running: ${cases.length} of ${CHECK_CASE_NAMES.length} requests were sent`;
  return status === 'passed'
    ? 'Passed: your receiver is right in all nine cases'
    : `Failed: right in ${passed} of ${CHECK_CASE_NAMES.length} cases`;
}

function CaseItem({ name, made, running }: { name: CheckCase; made: Case | undefined; running: boolean }) {
  return (
    <li class="card check-case">
      <div class="check-head">
        <span>
          <strong class="mono">{name}</strong> <span class="muted">{MEANINGS[name]}</span>
        </span>
        <Result made={made} running={running} />
      </div>
      <p class="muted">
        Expected: {CHECK_CASES[name] === '2xx' ? 'accepted with a 2xx' : 'refused with any other answer'}.{' '}
        {made && `Got: ${answerOf(made)}.`}
      </p>
      {made?.hint && <p class="bad-text">{made.hint}</p>}
      {made?.request && (
        <details>
          <summary>The request</summary>
          <UntrustedLines label={`The request of ${name}`} text={requestText(made.request)} />
        </details>
      )}
    </li>
  );
}

function Result({ made, running }: { made: Case | undefined; running: boolean }) {
  if (!made) return <span class="badge">{running ? 'waits' : 'not sent'}</span>;
  return made.passed ? <span class="badge good">passed</span> : <span class="badge bad">failed</span>;
}

const answerOf = ({ response_status, error }: Case) => response_status ?? `no answer (${error})`;

function requestText({ headers, body }: NonNullable<Case['request']>): string {
  return [...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\n');
}
