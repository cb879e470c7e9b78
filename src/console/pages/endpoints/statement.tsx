import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import type { recovered, statementView } from '../../../http/schemas/statement.js';
import { readIsoTime, TimeField, timeValue } from '../../components/forms.js';
import { Facts } from '../../components/parts.js';
import { countOf, countText, Time } from '../../components/values.js';
import { isEditor, seeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, type EndpointVisit, endpointForm, endpointPage } from './endpoint.js';
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
          A statement counts what happened to every event of a time range. It proves whether your system has received
          everything.
        </p>
        <form class="card stack narrow" method="get" action={`${path}/statement`}>
          <WindowFields values={query} sinceHint="Empty: the last 24 hours, or since the registration." />
          <button type="submit" class="primary">
            Create the statement
          </button>
        </form>
        {statement && <StatementView statement={statement} path={path} visit={visit} />}
      </>
    );
  },
});

/** What happened to the events of a time range at one endpoint: a sentence first, then numbers. */
function StatementView({ statement, path, visit }: { statement: Statement; path: string; visit: Visit }) {
  const { since, until, events, succeeded, complete, final } = statement;
  const query = new URLSearchParams({ since: since.slice(0, 19), until: until.slice(0, 19) });
  return (
    <>
      <section class="card stack" aria-label="The statement">
        <h2 class={complete ? 'good-text' : undefined}>{headline(statement)}</h2>
        <p>
          {countOf(events, 'event was', 'events were')} created from <Time at={since} /> to <Time at={until} />
          {events > 0 && `; ${countText(succeeded)} of them ${succeeded === 1 ? 'was' : 'were'} delivered`}.
        </p>
        <Numbers statement={statement} />
        <p>
          <strong>{final ? 'Final:' : 'Not final:'}</strong>{' '}
          {final
            ? 'no more events can be added to this time range.'
            : 'the time range ended less than a minute ago, so an event may still be added.'}
        </p>
        <DisabledPeriods statement={statement} />
      </section>
      {lostOf(statement) > 0 && isEditor(visit) && (
        <p>
          <a class="button" href={`${path}/recover?${query}`}>
            Recover what did not arrive
          </a>
        </p>
      )}
    </>
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
        Pending: number('pending', 'its next attempt is planned'),
        Failed: number('failed', 'every attempt failed; a recovery sends it again'),
        Cancelled: number('cancelled', 'the endpoint was disabled; a recovery sends it again'),
        Missing: number(
          'missing',
          'created while the endpoint was disabled or not yet registered; a recovery with missing events sends it',
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
        <p>It was not disabled in this time range.</p>
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
        These periods are recorded since <Time at={periods_known_since} />.
      </p>
    </>
  );
}

type Recovered = z.output<typeof recovered>;

const recoverPage = endpointPage('recover', {
  points: 5,
  asksItself: true,
  async view({ visit, endpoint, health, path }) {
    const { query, refused, config } = visit;
    const fields = new URLSearchParams({ since: missedSince(endpoint, health, config.retention) });
    for (const [name, value] of refused?.fields ?? query) fields.set(name, value);
    const statement = refused ? undefined : await askStatement(visit, fields);
    // Missing events are included unless the rejected form left them out; a rejected count says nothing about them.
    const missing = !refused || refused.fields === query || refused.fields.has('include_missing');
    return (
      <>
        {!endpoint.enabled && <Trouble endpoint={endpoint} health={health} editor />}
        {statement && <Missed statement={statement} />}
        <form class="card stack narrow" method="get" action={`${path}/recover`} aria-label="Count">
          <WindowFields values={fields} />
          <button type="submit">Count again</button>
        </form>
        {endpoint.enabled && !(statement && lostOf(statement) === 0) && (
          <form class="card stack narrow" method="post" action={`${path}/recover`} aria-label="Recover">
            <input type="hidden" name="since" value={fields.get('since') ?? ''} />
            <input type="hidden" name="until" value={fields.get('until') ?? ''} />
            <label class="check">
              <input type="checkbox" name="include_missing" checked={missing} />
              <span>
                Include missing events: those created while this endpoint was disabled, or before it was registered
              </span>
            </label>
            <button type="submit" class="primary">
              {statement ? `Recover ${countOf(lostOf(statement), 'event', 'events')}` : 'Recover'}
            </button>
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

function Missed({ statement }: { statement: Statement }) {
  const { failed, cancelled, missing, pending } = statement;
  const lost = lostOf(statement);
  if (lost === 0) {
    const waiting =
      pending > 0
        ? ` ${countOf(pending, 'delivery is pending and is retried', 'deliveries are pending and are retried')} automatically.`
        : '';
    return <p class="banner good">Nothing to recover in this time range.{waiting}</p>;
  }
  return (
    <p class="banner warn">
      <span>
        <strong>{countOf(lost, 'event', 'events')} of this time range did not arrive:</strong> {failed} failed,{' '}
        {cancelled} cancelled, {missing} missing.
      </span>
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
    count + missing === 0 ? 'There was nothing to recover in this time range.' : `The recovery has started: ${started}`;
  return seeOther(endpointPath(webhookId), notice);
});

export const statementPages = [statementPage, recoverPage, recover];

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

/** The range of a statement or a recovery. @param sinceHint what an empty start means; without it, it is required */
function WindowFields({ values, sinceHint }: { values: URLSearchParams; sinceHint?: string }) {
  const time = (name: string) => ({ name, value: values.get(name) });
  return (
    <div class="fields">
      <TimeField {...time('since')} label="From" hint={sinceHint} required={!sinceHint} />
      <TimeField {...time('until')} label="To" hint="Empty: until now." />
    </div>
  );
}

/** The range of a form as the API reads it; an empty field is omitted, so that its default applies. */
function windowOf(fields: URLSearchParams): { since?: string; until?: string } {
  const times = ['since', 'until'].flatMap((name) => {
    const value = fields.get(name) ?? '';
    return value === '' ? [] : [[name, readIsoTime(value)?.toISOString() ?? value]];
  });
  return Object.fromEntries(times);
}
