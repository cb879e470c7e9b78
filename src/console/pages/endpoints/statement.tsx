import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import type { recovered, statementView } from '../../../http/schemas/statement.js';
import { Field, timeOfField, timeValue } from '../../components/forms.js';
import { Facts } from '../../components/parts.js';
import { countOf, countText, Time } from '../../components/values.js';
import { isEditor, seeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, type EndpointVisit, endpointForm, endpointPage, healthOf } from './endpoint.js';
import { Trouble } from './state.js';

type Statement = z.output<typeof statementView>;

/** Asks for the statement of the window in `fields`. @throws Refusal, which the page shows at its form */
function askStatement({ operations, params: { webhookId } }: EndpointVisit, fields: URLSearchParams) {
  const request = { params: { webhookId }, query: windowOf(fields), limitsItself: true } as const;
  return operations.read<Statement>('getWebhookEndpointStatement', request);
}

const statementPage = endpointPage('statement', {
  points: 4,
  asksItself: true,
  async view({ visit, path }) {
    const { query, refused } = visit;
    const statement = query.has('since') && !refused ? await askStatement(visit, query) : undefined;
    return (
      <>
        <p>
          A statement counts what became of every event of a window, which shows whether your system has everything.
        </p>
        <form class="card" method="get" action={`${path}/statement`}>
          <WindowFields
            values={query}
            sinceHint="Empty: from 24 hours ago, or from the registration if that is later."
          />
          <button type="submit" class="primary">
            Make the statement
          </button>
        </form>
        {statement && <StatementView statement={statement} path={path} visit={visit} />}
      </>
    );
  },
});

/** What became of the events of a window at one endpoint, in words first. */
function StatementView({ statement, path, visit }: { statement: Statement; path: string; visit: Visit }) {
  const { since, until, events, succeeded, complete, final } = statement;
  const query = new URLSearchParams({ since: since.slice(0, 19), until: until.slice(0, 19) });
  return (
    <>
      <section class="card stack" aria-label="The statement">
        <h2 class={complete ? 'good-text' : undefined}>{headline(statement)}</h2>
        <p>
          {countOf(events, 'event was', 'events were')} made from <Time at={since} /> to <Time at={until} />
          {events > 0 && `; ${countText(succeeded)} of them ${succeeded === 1 ? 'was' : 'were'} delivered`}.
        </p>
        <Numbers statement={statement} />
        <p>
          <strong>{final ? 'Final:' : 'Not final:'}</strong>{' '}
          {final
            ? 'no event can be added to this window any more.'
            : 'the window ends less than a minute ago, so that an event may still be added.'}
        </p>
        <DisabledPeriods statement={statement} />
      </section>
      {lostOf(statement) > 0 && isEditor(visit) && (
        <p>
          <a class="button" href={`${path}/recover?${query}`}>
            Recover what has not arrived
          </a>
        </p>
      )}
    </>
  );
}

/** The events that have not arrived, and that a recover sends. */
const lostOf = ({ failed, cancelled, missing }: Statement) => failed + cancelled + missing;

function headline(statement: Statement): string {
  const { complete, events, pending } = statement;
  if (events === 0) return 'Complete: no event was made in this window';
  if (complete) return 'Complete: this endpoint has received every event';
  const lost = lostOf(statement);
  if (lost === 0) return `Not complete yet: ${countOf(pending, 'delivery waits', 'deliveries wait')}`;
  return `Not complete: ${countOf(lost, 'event has', 'events have')} not arrived`;
}

function Numbers({ statement }: { statement: Statement }) {
  const number = (name: 'succeeded' | 'pending' | 'failed' | 'cancelled' | 'missing', meaning: string) => (
    <>
      <strong class="numeric">{countText(statement[name])}</strong> <span class="muted">{meaning}</span>
    </>
  );
  return (
    <Facts
      of={{
        Succeeded: number('succeeded', 'the receiver accepted it'),
        Pending: number('pending', 'it waits for its next attempt'),
        Failed: number('failed', 'all its attempts failed; a recovery sends it again'),
        Cancelled: number('cancelled', 'the endpoint was disabled meanwhile; a recovery sends it again'),
        Missing: number(
          'missing',
          'made while the endpoint was disabled or not yet registered; a recovery of missing events sends it',
        ),
      }}
    />
  );
}

function DisabledPeriods({ statement }: { statement: Statement }) {
  const { disabled_periods, periods_known_since } = statement;
  return (
    <>
      <h3>When it was disabled</h3>
      {disabled_periods.length === 0 ? (
        <p>It was not disabled in this window.</p>
      ) : (
        <ul>
          {disabled_periods.map(({ from, to, reason }) => (
            <li key={from}>
              from <Time at={from} /> {to ? <>to {<Time at={to} />}</> : 'until now'} ({reason})
            </li>
          ))}
        </ul>
      )}
      <p class="muted">
        Such periods are recorded since <Time at={periods_known_since} />.
      </p>
    </>
  );
}

type Recovered = z.output<typeof recovered>;

const recoverPage = endpointPage('recover', {
  points: 5,
  asksItself: true,
  async view({ visit, endpoint, path }) {
    const { query, refused, config } = visit;
    const health = (await healthOf(visit)).get(endpoint.webhookId);
    const fields = new URLSearchParams({ since: missedSince(endpoint, health, config.retention) });
    for (const [name, value] of refused?.fields ?? query) fields.set(name, value);
    const statement = refused ? undefined : await askStatement(visit, fields);
    // Missing events are sent unless the form that was refused left them out; a refused count says nothing about them.
    const missing = !refused || refused.fields === query || refused.fields.has('include_missing');
    return (
      <>
        {!endpoint.enabled && <Trouble endpoint={endpoint} health={health} editor />}
        {statement && <Missed statement={statement} />}
        <form class="card" method="get" action={`${path}/recover`} aria-label="Count">
          <WindowFields values={fields} />
          <button type="submit">Count again</button>
        </form>
        {endpoint.enabled && !(statement && lostOf(statement) === 0) && (
          <form class="card" method="post" action={`${path}/recover`} aria-label="Recover">
            <input type="hidden" name="since" value={fields.get('since') ?? ''} />
            <input type="hidden" name="until" value={fields.get('until') ?? ''} />
            <label class="check">
              <input type="checkbox" name="include_missing" checked={missing} />
              <span>
                Also send missing events: those made while this endpoint was disabled, or before it was registered
              </span>
            </label>
            <button type="submit" class="primary">
              {statement ? `Recover ${countOf(lostOf(statement), 'event', 'events')}` : 'Recover'}
            </button>
            <p class="muted">
              They are sent again from the start of the ladder, at 20 a second, behind new events. Your receiver knows
              an event that it already has by its id. One recover runs for an endpoint at a time, ten an hour.
            </p>
          </form>
        )}
      </>
    );
  },
});

function Missed({ statement }: { statement: Statement }) {
  const { failed, cancelled, missing, pending } = statement;
  const lost = lostOf(statement);
  if (lost === 0) {
    const waiting = pending > 0 ? ` ${countOf(pending, 'delivery waits', 'deliveries wait')} and will be tried.` : '';
    return <p class="notice">Nothing to recover in this window.{waiting}</p>;
  }
  return (
    <p class="caution">
      <strong>{countOf(lost, 'event', 'events')} of this window did not arrive:</strong> {failed} failed, {cancelled}{' '}
      cancelled, {missing} missing.
    </p>
  );
}

const recover = endpointForm('recover', recoverPage, async ({ operations, params: { webhookId } }, fields) => {
  const body = { ...windowOf(fields), include_missing: fields.has('include_missing') };
  const { count, missing } = await operations.change<Recovered>('recoverWebhookEndpoint', {
    params: { webhookId },
    body,
  });
  const started = `${countOf(count, 'delivery starts', 'deliveries start')} again, and ${countOf(missing, 'missing event is', 'missing events are')} sent.`;
  const notice =
    count + missing === 0 ? 'There was nothing to recover in this window.' : `The recover has started: ${started}`;
  return seeOther(endpointPath(webhookId), notice);
});

export const statementPages = [statementPage, recoverPage, recover];

/** The longest window of a statement and of a recover with missing events (contract), less a minute to fill a form, ms. */
const LONGEST = 31 * 86_400_000 - 60_000;

/**
 * The start of the window in which an endpoint may have missed events: its last success, or its registration. What was
 * before the last success arrived, or failed for a reason of its own.
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

/** The window of a statement or a recover. @param sinceHint what an empty start means; without it, it is required */
function WindowFields({ values, sinceHint }: { values: URLSearchParams; sinceHint?: string }) {
  const time = (name: string) => ({ name, type: 'datetime-local', value: values.get(name) }) as const;
  return (
    <div class="field-row">
      <Field {...time('since')} label="From (UTC)" hint={sinceHint} required={!sinceHint} />
      <Field {...time('until')} label="To (UTC)" hint="Empty: until now." />
    </div>
  );
}

/** The window of a form as the API reads it; an empty field is left out, so that its default counts. */
function windowOf(fields: URLSearchParams): { since?: string; until?: string } {
  const times = ['since', 'until'].flatMap((name) => {
    const value = fields.get(name) ?? '';
    return value === '' ? [] : [[name, timeOfField(value)]];
  });
  return Object.fromEntries(times);
}
