import type { PlannedAttempt } from '../../../webhooks/planned-attempts.js';
import type { LastAttempt } from '../../../webhooks/read-attempts.js';
import { Time } from '../../components/time.js';
import { Answer } from './answer.js';

interface Props {
  deliveryId: string;
  attempts: readonly LastAttempt[];
  planned: readonly PlannedAttempt[];
  now: Date;
}

/** The ladder of a delivery: the attempts that were made, then the rungs that are left. */
export function TimeLine({ deliveryId, attempts, planned, now }: Props) {
  return (
    <ol class="time-line">
      {attempts.map((attempt) => (
        <MadeAttempt key={attempt.number} {...{ deliveryId, attempt, now }} />
      ))}
      {planned.map(({ number, at }) => (
        <li key={number} class="rung planned" id={`rung-${deliveryId}-${number}`}>
          <span class="rung-head">
            <span class="rung-name">Attempt {number}</span>
            <span class="rung-time">
              {at > now ? 'planned ' : 'due '}
              <Time at={at.toISOString()} now={now} />
            </span>
          </span>
        </li>
      ))}
    </ol>
  );
}

const TRIGGERS: Readonly<Record<LastAttempt['trigger'], string>> = {
  schedule: '',
  manual: 'by hand',
  recover: 'recover',
};

function MadeAttempt({ deliveryId, attempt, now }: { deliveryId: string; attempt: LastAttempt; now: Date }) {
  const { number, trigger, startedAt, durationMs, error } = attempt;
  const href = attemptPath(deliveryId, number);
  return (
    <li class={`rung ${error === null ? 'good' : 'bad'}`} id={`rung-${deliveryId}-${number}`}>
      <span class="rung-head">
        <span class="rung-name">
          Attempt {number} {TRIGGERS[trigger] && <span class="muted">({TRIGGERS[trigger]})</span>}
        </span>
        <Answer outcome={attempt} />
        <span class="rung-time">
          <Time at={startedAt.toISOString()} now={now} />
        </span>
        <span class="muted numeric">took {durationMs} ms</span>
      </span>
      <details class="attempt-details" id={`details-${deliveryId}-${number}`} data-load="">
        <summary>
          Request and answer<span class="visually-hidden"> of attempt {number}</span>
        </summary>
        <p>
          <a href={href}>Open the page of attempt {number}</a>
        </p>
      </details>
    </li>
  );
}

export function attemptPath(deliveryId: string, number: number): `/console${string}` {
  return `/console/deliveries/${deliveryId}/attempts/${number}`;
}

/** For a delivery with more attempts than a card shows. */
export function EarlierAttempts({ deliveryId, count }: { deliveryId: string; count: number }) {
  return (
    <p>
      <a href={`/console/deliveries/${deliveryId}`}>All {count} attempts</a>
    </p>
  );
}
