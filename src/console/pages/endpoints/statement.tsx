import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import type { recovered } from '../../../http/schemas/recovery.js';
import type { statementView } from '../../../http/schemas/statement.js';
import { isoText, readTime } from '../../components/lists.js';
import { Facts, Submit, TimeField, timeValue } from '../../components/parts.js';
import { countOf, countText, Time } from '../../components/values.js';
import { isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, endpointForm, endpointPage } from './endpoint.js';
import { Trouble } from './state.js';

type Statement = z.output<typeof statementView>;

/**
 * The statement of a time range, which proves what arrived, and the recovery of what did not. An endpoint in trouble
 * leads here: the range begins with what it may have missed.
 */
const statementPage = endpointPage('statement', {
  points: 5,
  asksItself: true,
  async view({ visit, endpoint, health, path }) {
    const { query, refused, operations, config, params } = visit;
    const fields = new URLSearchParams({ since: missedSince(endpoint, health, config.retention) });
    for (const [name, value] of refused?.fields ?? query) fields.set(name, value);
    const statement = refused
      ? undefined
      : await operations.read<Statement>('getWebhookEndpointStatement', {
          params,
          query: windowOf(fields),
          limitsItself: true,
        });
    // Missing events are included unless the rejected form left them out; a rejected count says nothing about them.
    const missing = !refused || refused.fields === query || refused.fields.has('include_missing');
    const editor = isEditor(visit);
    return (
      <>
        {!endpoint.enabled && <Trouble endpoint={endpoint} health={health} editor={editor} />}
        <form class="card stack" method="get" action={`${path}/statement`} aria-label="Time range">
          <p>
            A statement counts what happened to every event of a time range. It proves whether your system has received
            everything.
          </p>
          <div class="fields">
            <TimeField name="since" label="Since" value={fields.get('since')} required />
            <TimeField name="until" label="Until" value={fields.get('until')} hint="Empty: until now." />
          </div>
          <button type="submit">Create the statement</button>
        </form>
        {statement && <StatementView statement={statement} />}
        {endpoint.enabled && editor && !(statement && lostOf(statement) === 0) && (
          <form class="card stack" method="post" action={`${path}/recover`} aria-label="Recover">
            <input type="hidden" name="since" value={fields.get('since') ?? ''} />
            <input type="hidden" name="until" value={fields.get('until') ?? ''} />
            <label class="check">
              <input type="checkbox" name="include_missing" checked={missing} />
              <span>
                Include missing events: those created while this endpoint was disabled, or before it was registered
              </span>
            </label>
            <Submit>{statement ? `Recover ${countOf(lostOf(statement), 'event', 'events')}` : 'Recover'}</Submit>
            <p class="hint">
              Each delivery starts again with all its attempts, at 20 a second, behind new events. Your receiver
              recognises an event that it already has by its id. An endpoint has one recovery at a time, at most ten an
              hour; they do not count as manual retries.
            </p>
          </form>
        )}
      </>
    );
  },
});

/** What happened to the events of a time range at one endpoint: a sentence first, then numbers. */
function StatementView({ statement }: { statement: Statement }) {
  const { since, until, events, succeeded, complete, final, disabled_periods, periods_known_since } = statement;
  const tone = complete ? 'good-text' : lostOf(statement) > 0 ? 'bad-text' : undefined;
  return (
    <section class="card stack" aria-label="The statement">
      <h2 class={tone}>{headline(statement)}</h2>
      <p>
        {countOf(events, 'event was', 'events were')} created from <Time at={since} /> to <Time at={until} />
        {events > 0 && `; ${countText(succeeded)} of them ${succeeded === 1 ? 'was' : 'were'} delivered`}.{' '}
        {final
          ? 'This is final: no more events can be added to this time range.'
          : 'This is not final: the time range ended less than a minute ago, so an event may still be added.'}
      </p>
      <Facts
        of={Object.fromEntries(
          Object.entries(NUMBERS).map(([name, meaning]) => [
            name,
            <>
              <strong class="numeric">{countText(statement[name as keyof typeof NUMBERS])}</strong>{' '}
              <span class="muted">{meaning}</span>
            </>,
          ]),
        )}
      />
      <div>
        <h3>When it was disabled</h3>
        <ul>
          {disabled_periods.map(({ from, to, reason }) => (
            <li key={from}>
              from <Time at={from} /> {to ? <>to {<Time at={to} />}</> : 'until now'} ({reason})
            </li>
          ))}
        </ul>
        <p class="muted">
          {disabled_periods.length === 0 && 'Not in this time range. '}
          These periods are recorded since <Time at={periods_known_since} />.
        </p>
      </div>
    </section>
  );
}

/** The events that did not arrive, which a recovery sends. */
const lostOf = ({ failed, cancelled, missing }: Statement) => failed + cancelled + missing;

function headline(statement: Statement): string {
  const { complete, events, pending } = statement;
  if (events === 0) return 'Complete: no event was created in this time range';
  if (complete) return 'Complete: this endpoint has received every event';
  const lost = lostOf(statement);
  if (lost === 0) return `Not complete yet: ${countOf(pending, 'delivery is pending', 'deliveries are pending')}`;
  return `Not complete: ${countOf(lost, 'event', 'events')} did not arrive`;
}

const NUMBERS = {
  succeeded: 'the receiver accepted it',
  pending: 'its next attempt is planned',
  failed: 'every attempt failed; a recovery sends it again',
  cancelled: 'the endpoint was disabled; a recovery sends it again',
  missing: 'created while the endpoint was disabled or not yet registered; a recovery with missing events sends it',
} as const;

const recover = endpointForm('recover', statementPage, async ({ operations, params }, fields) => {
  const body = { ...windowOf(fields), include_missing: fields.has('include_missing') };
  const { id, count, missing } = await operations.change<z.output<typeof recovered>>('recoverWebhookEndpoint', {
    params,
    body,
  });
  const started = `${countOf(count, 'delivery starts', 'deliveries start')} again, and ${countOf(missing, 'missing event is', 'missing events are')} sent.`;
  const notice =
    id === null ? 'There was nothing to recover in this time range.' : `The recovery has started: ${started}`;
  const path = endpointPath(params.webhookId);
  return seeOther(id === null ? path : `${path}/recoveries`, notice);
});

export const statementPages = [statementPage, recover];

/** The longest range of a statement and of a recovery with missing events (contract), less a minute to fill a form, ms. */
const LONGEST = 31 * 86_400_000 - 60_000;

/**
 * The start of the range in which an endpoint may have missed events: its last success, or its registration. Earlier
 * events arrived, or failed for reasons of their own.
 * @param retention ms; earlier events are removed
 * @returns the value of a field, in UTC
 */
export function missedSince(
  { created_at }: Endpoint,
  health: Pick<EndpointHealth, 'lastSuccessAt'> | undefined,
  retention: number,
  now = Date.now(),
): string {
  const since = health?.lastSuccessAt?.getTime() ?? Date.parse(created_at);
  return timeValue(new Date(Math.max(since, now - Math.min(LONGEST, retention - 60_000))));
}

/**
 * The range of a form as the API reads it; an empty field is omitted, so that its default applies.
 * @throws Refusal invalid_request
 */
function windowOf(fields: URLSearchParams) {
  return { since: isoText(readTime(fields, 'since')), until: isoText(readTime(fields, 'until')) };
}
