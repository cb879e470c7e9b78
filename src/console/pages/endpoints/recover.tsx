import type { z } from 'zod';
import type { recovered } from '../../../http/schemas/recover.js';
import { countOf } from '../../components/quantity.js';
import { form, page, seeOther } from '../../page.js';
import { pathOf, readEndpoint, WRITE } from './endpoint.js';
import { EndpointHead } from './head.js';
import { healthOf } from './health.js';
import { missedSince } from './missed-since.js';
import { askStatement } from './statement.js';
import type { Statement } from './statement-view.js';
import { Trouble } from './trouble.js';
import { WindowFields, windowOf } from './window-fields.js';

type Recovered = z.output<typeof recovered>;

const recoverPage = page({
  path: '/console/endpoints/{webhookId}/recover',
  scope: WRITE,
  points: 5,
  title: 'Recover what was missed',
  async view(visit) {
    const { query, refused, config } = visit;
    const endpoint = await readEndpoint(visit);
    const health = (await healthOf(visit)).get(endpoint.webhookId);
    const fields = new URLSearchParams({ since: missedSince(endpoint, health, config.retention) });
    for (const [name, value] of query) fields.set(name, value);
    const { statement, refused: uncounted } = refused ? {} : await askStatement(visit, fields);
    const path = `${pathOf(endpoint.webhookId)}/recover`;
    const values = { since: fields.get('since') ?? '', until: fields.get('until') ?? '' };
    const missing = refused ? refused.fields.has('include_missing') : true;
    return (
      <>
        <EndpointHead endpoint={endpoint} here="recover" visit={visit} />
        {!endpoint.enabled && <Trouble endpoint={endpoint} health={health} editor now={new Date()} />}
        {statement && <Missed statement={statement} />}
        {uncounted && <p class="caution">It was not counted: {uncounted.refusal.message}</p>}
        <form class="card" method="get" action={path} aria-label="Count">
          <WindowFields {...values} refused={uncounted} />
          <button type="submit">Count again</button>
        </form>
        {endpoint.enabled && !(statement && lostOf(statement) === 0) && (
          <form class="card" method="post" action={path} aria-label="Recover">
            <input type="hidden" name="since" value={refused?.fields.get('since') ?? values.since} />
            <input type="hidden" name="until" value={refused?.fields.get('until') ?? values.until} />
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

const lostOf = ({ failed, cancelled, missing }: Statement) => failed + cancelled + missing;

const recover = form({
  path: '/console/endpoints/{webhookId}/recover',
  scope: WRITE,
  page: recoverPage,
  async submit({ operations, params: { webhookId } }, fields) {
    const body = { ...windowOf(fields), include_missing: fields.has('include_missing') };
    const { count, missing } = await operations.change<Recovered>('recoverWebhookEndpoint', {
      params: { webhookId },
      body,
    });
    const started = `${countOf(count, 'delivery starts', 'deliveries start')} again, and ${countOf(missing, 'missing event is', 'missing events are')} sent.`;
    const notice =
      count + missing === 0 ? 'There was nothing to recover in this window.' : `The recover has started: ${started}`;
    return seeOther(pathOf(webhookId), notice);
  },
});

export const recoverPages = [recoverPage, recover];
