import type { ComponentChildren } from 'preact';
import type { EndpointHealth } from '../../../webhooks/endpoint-health.js';
import { countOf, countText } from '../../components/quantity.js';
import { RelativeTime } from '../../components/time.js';
import { receiverSentence } from '../events/outcome.js';
import { type Endpoint, isFailing, pathOf } from './endpoint.js';

interface Props {
  endpoint: Endpoint;
  health: EndpointHealth | undefined;
  /** Whether the session may change something. */
  editor: boolean;
  now: Date;
}

/** Why an endpoint gets nothing, or fails, and the way back. Null for an endpoint that works. */
export function Trouble({ endpoint, health, editor, now }: Props) {
  if (!endpoint.enabled) return <Disabled endpoint={endpoint} missed={health?.missed ?? null} editor={editor} />;
  return isFailing(endpoint, health) ? <Failing endpoint={endpoint} health={health} now={now} /> : null;
}

const REASONS: Readonly<Record<NonNullable<Endpoint['disabled_reason']>, { title: string; why: string; way: string }>> =
  {
    owner: {
      title: 'Disabled by you',
      why: 'Somebody with your credentials disabled this endpoint. Events that are made now have no delivery for it.',
      way: 'Enable it, then recover what it missed on the next page.',
    },
    operator: {
      title: 'Disabled by the operator',
      why: 'The operator of this service disabled this endpoint. Events that are made now have no delivery for it.',
      way: 'Only the operator enables it again: contact the operator. Then recover here what it missed.',
    },
    gone: {
      title: 'Disabled: the receiver answered 410 Gone',
      why: 'A receiver says with 410 that it wants no more events, so that the service stopped sending to it.',
      way: 'When the receiver is back, enable the endpoint, then recover what it missed on the next page.',
    },
    failing: {
      title: 'Disabled: nothing succeeded for days',
      why: 'Several deliveries used all their attempts and none succeeded, so that the service stopped sending.',
      way: 'When the receiver works, enable the endpoint, then recover what it missed on the next page.',
    },
  };

interface DisabledProps {
  endpoint: Endpoint;
  missed: EndpointHealth['missed'];
  editor: boolean;
}

function Disabled({ endpoint, missed, editor }: DisabledProps) {
  const { title, why, way } = REASONS[endpoint.disabled_reason ?? 'owner'];
  return (
    <Banner tone="bad" title={title}>
      <p>
        {why}
        {missed && ` ${missedSentence(missed)}`}
      </p>
      <p>{way}</p>
      {editor && endpoint.disabled_reason !== 'operator' && <EnableForm endpoint={endpoint} />}
    </Banner>
  );
}

function missedSentence({ count, more }: NonNullable<EndpointHealth['missed']>): string {
  if (count === 0) return 'It has missed no event so far.';
  return more
    ? `It has missed more than ${countText(count)} events so far.`
    : `It has missed ${countOf(count, 'event', 'events')} so far.`;
}

export function EnableForm({ endpoint }: { endpoint: Endpoint }) {
  return (
    <form class="inline" method="post" action={`${pathOf(endpoint.webhookId)}/enable`}>
      <button type="submit">Enable and count what it missed</button>
    </form>
  );
}

function Failing({ endpoint, health, now }: { endpoint: Endpoint; health: EndpointHealth | undefined; now: Date }) {
  const { lastFailure, lastSuccessAt, pending } = health ?? {};
  if (!lastFailure) return null;
  return (
    <Banner tone="warn" title="The latest attempt failed">
      <p>
        {receiverSentence([lastFailure])} This was <RelativeTime at={lastFailure.at.toISOString()} now={now} />.{' '}
        {lastSuccessAt ? (
          <>
            The last success was <RelativeTime at={lastSuccessAt.toISOString()} now={now} />.
          </>
        ) : (
          'Nothing has succeeded yet.'
        )}
      </p>
      {pending && pending.count > 0 && (
        <p>
          <Waiting pending={pending} now={now} /> Deliveries go on by themselves when the receiver works again; to send
          one now, open it <a href={`/console/deliveries?endpoint=${endpoint.webhookId}&status=pending`}>in the list</a>
          .
        </p>
      )}
    </Banner>
  );
}

/** `12 deliveries wait; the next attempt is in 4 min.` */
export function Waiting({ pending, now }: { pending: EndpointHealth['pending']; now: Date }) {
  const { count, more, nextAttemptAt } = pending;
  if (count === 0) return <>Nothing waits.</>;
  const deliveries = more
    ? `More than ${countText(count)} deliveries wait`
    : `${countOf(count, 'delivery waits', 'deliveries wait')}`;
  if (!nextAttemptAt) return <>{deliveries}.</>;
  if (nextAttemptAt <= now) return <>{deliveries}; the next attempt is due now.</>;
  return (
    <>
      {deliveries}; the next attempt is <RelativeTime at={nextAttemptAt.toISOString()} now={now} />.
    </>
  );
}

function Banner({ tone, title, children }: { tone: 'bad' | 'warn'; title: string; children: ComponentChildren }) {
  return (
    <section class={`trouble ${tone}`} aria-label={title}>
      <h3>{title}</h3>
      {children}
    </section>
  );
}
