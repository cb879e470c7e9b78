import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import type { recovered } from '../../../http/schemas/recovery.js';
import type { statementView } from '../../../http/schemas/statement.js';
import { readTime } from '../../components/lists.js';
import { Facts, Submit, TimeField, timeValue } from '../../components/parts.js';
import { CopyButton, countOf, countText, JsonText, Time } from '../../components/values.js';
import { isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, endpointForm, endpointPage } from './endpoint.js';
import { Trouble } from './state.js';

type Statement = z.output<typeof statementView>;
type Recovered = z.output<typeof recovered>;

/**
 * The statement of a time range, which proves what arrived, and the recovery of what did not. An endpoint in trouble
 * leads here: the range begins with what it may have missed.
 */
const statementPage = endpointPage('statement', {
  points: 5,
  async view({ visit, endpoint, health, path }) {
    const { query, refused, operations, config, params, session } = visit;
    const fields = new URLSearchParams({ since: missedSince(endpoint, health, config.retention, session.now) });
    for (const [name, value] of refused?.fields ?? query) fields.set(name, value);
    const statement = refused
      ? undefined
      : await operations.read<Statement>('getWebhookEndpointStatement', {
          params,
          query: windowOf(fields, session.now),
          limitsItself: true,
        });
    const editor = isEditor(visit);
    // A recovery that is rejected for another reason than its range can be repeated later; a rejected statement says
    // nothing about one.
    const repeats = refused?.refusal.errors.length === 0 && refused.fields.has('recover');
    const lost = statement ? lostOf(statement) : 0;
    const pending = statement?.pending ?? 0;
    const chosen = (name: string) => !refused || refused.fields.has(name);
    return (
      <>
        {!endpoint.enabled && <Trouble endpoint={endpoint} health={health} editor={editor} />}
        <form class="card stack" method="get" action={`${path}/statement`} aria-label="Time range">
          <p>A statement counts what happened to every event of a time range.</p>
          <div class="fields">
            <TimeField name="since" label="Since" value={fields.get('since')} required />
            <TimeField name="until" label="Until" value={fields.get('until')} hint="Empty: until now." />
          </div>
          <button type="submit">Create the statement</button>
        </form>
        {statement && <StatementView statement={statement} />}
        {endpoint.enabled && editor && (repeats || lost + pending > 0) && (
          <form class="card stack" method="post" action={`${path}/recover`} aria-label="Recover">
            <input type="hidden" name="recover" />
            <input type="hidden" name="since" value={fields.get('since') ?? ''} />
            <input type="hidden" name="until" value={fields.get('until') ?? ''} />
            <label class="check">
              <input type="checkbox" name="include_missing" checked={chosen('include_missing')} />
              <span>
                Include missing events: those created while this endpoint was disabled, or before it was registered
              </span>
            </label>
            <label class="check">
              <input type="checkbox" name="include_pending" checked={chosen('include_pending')} />
              <span>
                Include pending deliveries that wait for their next attempt
                {pending > 0 && `: at most ${countText(pending)}`}
              </span>
            </label>
            <Submit>{recoverText(lost, pending)}</Submit>
            <p class="hint">
              Each delivery starts again with all its attempts, at 20 a second, behind new events. Your receiver
              recognises an event that it already has by its id.
            </p>
          </form>
        )}
      </>
    );
  },
});

function recoverText(lost: number, pending: number): string {
  if (lost > 0) return `Recover ${countOf(lost, 'event', 'events')}`;
  return pending > 0 ? 'Send everything pending now' : 'Recover';
}

/** What happened to the events of a time range at one endpoint: a sentence first, then numbers. */
function StatementView({ statement }: { statement: Statement }) {
  const { since, until, complete, final, disabled_periods, digest, signature } = statement;
  const lost = lostOf(statement);
  const tone = complete ? 'good-text' : lost > 0 ? 'bad-text' : undefined;
  const number = (name: 'events' | 'succeeded' | 'pending' | 'failed' | 'cancelled' | 'missing', meaning: string) => (
    <>
      <strong class="numeric">{countText(statement[name])}</strong> <span class="muted">{meaning}</span>
    </>
  );
  return (
    <section class="card stack" aria-label="The statement">
      <h2 class={tone}>
        {complete && 'Complete: this endpoint has received every event'}
        {!complete && lost === 0 && 'Not complete yet: deliveries are pending'}
        {lost > 0 && `Not complete: ${countOf(lost, 'event', 'events')} did not arrive`}
      </h2>
      <p>
        Events created from <Time at={since} /> to <Time at={until} />.{' '}
        {final ? 'This is final.' : 'This is not final: an event may still be added for a minute.'}
      </p>
      <Facts
        of={{
          events: number('events', 'in all'),
          succeeded: number('succeeded', 'the receiver accepted it'),
          pending: number('pending', 'its next attempt is planned'),
          failed: number('failed', 'every attempt failed'),
          cancelled: number('cancelled', 'the endpoint was disabled'),
          missing: number('missing', 'created while the endpoint was disabled or not yet registered'),
          disabled:
            disabled_periods.length > 0 &&
            disabled_periods.map(({ from, to, reason }) => (
              <div key={from}>
                from <Time at={from} /> {to ? <>to {<Time at={to} />}</> : 'until now'} ({reason})
              </div>
            )),
          digest: (
            <>
              <code>{digest}</code> <CopyButton copies={digest} label="Copy the digest" />
            </>
          ),
        }}
      />
      {signature && (
        <details class="stack">
          <summary>Signature</summary>
          <div class="row between">
            <p class="hint">
              It signs all of the above: <code>npx transfer-service-client verify-statement FILE</code>
            </p>
            <CopyButton copies={signature} label="Copy the signature" />
          </div>
          <JsonText label="Signature of the statement" text={signature} />
        </details>
      )}
    </section>
  );
}

/** The events that did not arrive, which a recovery sends. */
const lostOf = ({ failed, cancelled, missing }: Statement) => failed + cancelled + missing;

const recover = endpointForm('recover', statementPage, async ({ operations, params, session }, fields) => {
  const included = { include_missing: fields.has('include_missing'), include_pending: fields.has('include_pending') };
  const body = { ...windowOf(fields, session.now), ...included };
  const { id, count, missing, pending } = await operations.change<Recovered>('recoverWebhookEndpoint', {
    params,
    body,
  });
  const number = countOf(count + missing + pending, 'delivery', 'deliveries');
  const notice =
    id === null ? 'There is nothing to recover in this time range.' : `The recovery has started. It sends ${number}.`;
  return seeOther(`${endpointPath(params.webhookId)}/recoveries`, notice);
});

export const statementPages = [statementPage, recover];

/**
 * The longest range of a statement and of a recovery with missing events, less a minute to fill a form, ms.
 */
const LONGEST = 31 * 86_400_000 - 60_000;

/**
 * The start of the range in which an endpoint may have missed events: its last success or its oldest pending event, or
 * its registration. Earlier events arrived, or failed for reasons of their own.
 * @param retention ms; earlier events are removed
 * @returns the value of a field, in UTC
 */
export function missedSince(
  { created_at }: Endpoint,
  health: Pick<EndpointHealth, 'lastSuccessAt' | 'pendingSince'> | undefined,
  retention: number,
  now: number,
): string {
  const success = health?.lastSuccessAt?.getTime() ?? Date.parse(created_at);
  const since = Math.min(success, health?.pendingSince?.getTime() ?? success);
  return timeValue(new Date(Math.max(since, now - Math.min(LONGEST, retention - 60_000))));
}

/**
 * The range of a form as the API reads it; an empty field is omitted, so that its default applies.
 * @throws Refusal invalid_request
 */
function windowOf(fields: URLSearchParams, now: number) {
  return { since: readTime(fields, 'since', now), until: readTime(fields, 'until', now) };
}
