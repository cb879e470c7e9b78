import type { z } from 'zod';
import type { statementView } from '../../../http/presenters/statement.js';
import { countOf, countText } from '../../components/quantity.js';
import { Time } from '../../components/time.js';

export type Statement = z.output<typeof statementView>;

/** What became of the events of a window at one endpoint, in words first. */
export function StatementView({ statement, now }: { statement: Statement; now: Date }) {
  const { since, until, events, succeeded, complete, final } = statement;
  return (
    <section class="card stack" aria-label="The statement">
      <h2 class={complete ? 'good-text' : undefined}>{headline(statement)}</h2>
      <p>
        {countOf(events, 'event was', 'events were')} made from <Time at={since} now={now} /> to{' '}
        <Time at={until} now={now} />
        {events > 0 && `; ${countText(succeeded)} of them ${succeeded === 1 ? 'was' : 'were'} delivered`}.
      </p>
      <Numbers statement={statement} />
      <p>
        {final ? (
          <>
            <strong>Final:</strong> no event can be added to this window any more.
          </>
        ) : (
          <>
            <strong>Not final:</strong> the window ends less than a minute ago, so that an event may still be added.
          </>
        )}
      </p>
      <DisabledPeriods statement={statement} now={now} />
    </section>
  );
}

function headline({ complete, events, pending, failed, cancelled, missing }: Statement): string {
  if (events === 0) return 'Complete: no event was made in this window';
  if (complete) return 'Complete: this endpoint has received every event';
  const lost = failed + cancelled + missing;
  if (lost === 0) return `Not complete yet: ${countOf(pending, 'delivery waits', 'deliveries wait')}`;
  return `Not complete: ${countOf(lost, 'event has', 'events have')} not arrived`;
}

const NUMBERS = [
  { name: 'succeeded', label: 'Succeeded', meaning: 'the receiver accepted it' },
  { name: 'pending', label: 'Pending', meaning: 'it waits for an attempt, and goes on by itself' },
  { name: 'failed', label: 'Failed', meaning: 'all its attempts failed; a recover sends it again' },
  { name: 'cancelled', label: 'Cancelled', meaning: 'the endpoint was disabled meanwhile; a recover sends it again' },
  {
    name: 'missing',
    label: 'Missing',
    meaning: 'made while the endpoint was disabled or not yet registered; a recover of missing events sends it',
  },
] as const;

function Numbers({ statement }: { statement: Statement }) {
  return (
    <dl class="facts">
      {NUMBERS.map(({ name, label, meaning }) => (
        <>
          <dt key={name}>{label}</dt>
          <dd>
            <strong class="numeric">{countText(statement[name])}</strong> <span class="muted">{meaning}</span>
          </dd>
        </>
      ))}
    </dl>
  );
}

function DisabledPeriods({
  statement: { disabled_periods, periods_known_since },
  now,
}: {
  statement: Statement;
  now: Date;
}) {
  return (
    <>
      <h3>When it was disabled</h3>
      {disabled_periods.length === 0 ? (
        <p>It was not disabled in this window.</p>
      ) : (
        <ul>
          {disabled_periods.map(({ from, to, reason }) => (
            <li key={from}>
              from <Time at={from} now={now} /> {to ? <>to {<Time at={to} now={now} />}</> : 'until now'} ({reason})
            </li>
          ))}
        </ul>
      )}
      <p class="muted">
        Such periods are recorded since <Time at={periods_known_since} now={now} />.
      </p>
    </>
  );
}
