import type { EndpointHealth } from '../../../webhooks/endpoint-health.js';
import { countText, durationText } from '../../components/quantity.js';
import { Sparkline } from '../../components/sparkline.js';
import { RelativeTime } from '../../components/time.js';

interface Props {
  health: EndpointHealth | undefined;
  now: Date;
}

/** An endpoint's last 24 h: attempts by the hour, the receiver's answer times, the last success, and what waits. */
export function HealthView({ health, now }: Props) {
  if (!health) return <p class="muted">Its health is not known.</p>;
  const { hours, succeeded, failed, answerTime, lastSuccessAt, pending } = health;
  return (
    <div class="health">
      <figure class="health-chart">
        <Sparkline hours={hours} />
        <figcaption class="muted">Attempts by the hour, last 24 h</figcaption>
      </figure>
      <dl class="health-facts">
        <div>
          <dt>Succeeded</dt>
          <dd>
            <Attempts count={succeeded} />
          </dd>
        </div>
        <div>
          <dt>Failed</dt>
          <dd class={failed > 0 ? 'bad-text' : undefined}>
            <Attempts count={failed} />
          </dd>
        </div>
        <div>
          <dt title="Time to the receiver's answer: half, and 95 %, of the answers took at most this long">
            Answer p50 / p95
          </dt>
          <dd class="numeric">
            {answerTime ? `${durationText(answerTime.p50)} / ${durationText(answerTime.p95)}` : '–'}
          </dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>
            <span class="numeric">
              {pending.more && 'more than '}
              {countText(pending.count)}
            </span>
            <NextAttempt pending={pending} now={now} />
          </dd>
        </div>
        <div>
          <dt>Last success</dt>
          <dd>{lastSuccessAt ? <RelativeTime at={lastSuccessAt.toISOString()} now={now} /> : 'none yet'}</dd>
        </div>
      </dl>
    </div>
  );
}

/** The unit stands beside the number, because one delivery can have several attempts. */
function Attempts({ count }: { count: number }) {
  return (
    <>
      <span class="numeric">{countText(count)}</span>
      <span class="health-unit"> {count === 1 ? 'attempt' : 'attempts'}</span>
    </>
  );
}

function NextAttempt({ pending: { count, nextAttemptAt }, now }: { pending: EndpointHealth['pending']; now: Date }) {
  if (count === 0 || !nextAttemptAt) return null;
  return (
    <span class="health-unit">
      {' '}
      next {nextAttemptAt > now ? <RelativeTime at={nextAttemptAt.toISOString()} now={now} /> : 'now'}
    </span>
  );
}

/** The numbers of the chart as a table. */
export function HoursTable({ health: { hours } }: { health: EndpointHealth }) {
  return (
    <details>
      <summary>The numbers of each hour</summary>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Hour (UTC)</th>
            <th scope="col">Succeeded</th>
            <th scope="col">Failed</th>
          </tr>
        </thead>
        <tbody>
          {hours.toReversed().map(({ start, succeeded, failed }) => (
            <tr key={start.getTime()}>
              <td data-label="Hour (UTC)">{start.toISOString().slice(0, 16).replace('T', ' ')}</td>
              <td data-label="Succeeded">{countText(succeeded)}</td>
              <td data-label="Failed">{countText(failed)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
