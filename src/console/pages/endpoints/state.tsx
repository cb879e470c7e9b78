import type { ComponentChildren } from 'preact';
import type { EndpointHealth } from '../../../endpoints/health.js';
import { PostButton } from '../../components/forms.js';
import { countOf, RelativeTime } from '../../components/values.js';
import { receiverSentence } from '../delivery-texts.js';
import { endpointPath, MOVING_TRANSFER } from '../paths.js';
import type { Endpoint } from './endpoint.js';

// The state of an endpoint, in a word and in sentences: why it is in trouble, and the way back.

type Health = EndpointHealth | undefined;

/** `untried`: no attempt at it is known, so that nobody can say that it works. `failing`: its latest attempt failed. */
export function stateOf({ enabled }: Endpoint, health: Health): 'disabled' | 'failing' | 'untried' | 'works' {
  if (!enabled) return 'disabled';
  const { lastSuccessAt, lastFailure, pending } = health ?? {};
  if (lastFailure && (!lastSuccessAt || lastFailure.at > lastSuccessAt)) return 'failing';
  return health && !lastSuccessAt && pending?.count === 0 ? 'untried' : 'works';
}

interface Reason {
  badge: string;
  title: string;
  why: string;
  way: string;
}

const DISABLED: Readonly<Record<NonNullable<Endpoint['disabled_reason']>, Reason>> = {
  owner: {
    badge: 'disabled by you',
    title: 'Disabled by you',
    why: 'Somebody with your credentials disabled this endpoint. Events that are made now have no delivery for it.',
    way: 'Enable it, then recover what it missed on the next page.',
  },
  operator: {
    badge: 'disabled by the operator',
    title: 'Disabled by the operator',
    why: 'The operator of this service disabled this endpoint. Events that are made now have no delivery for it.',
    way: 'Only the operator enables it again: contact the operator. Then recover here what it missed.',
  },
  gone: {
    badge: 'disabled: 410 Gone',
    title: 'Disabled: the receiver answered 410 Gone',
    why: 'A receiver says with 410 that it wants no more events, so that the service stopped sending to it.',
    way: 'When the receiver is back, enable the endpoint, then recover what it missed on the next page.',
  },
  failing: {
    badge: 'disabled: failing',
    title: 'Disabled: nothing succeeded for days',
    why: 'Several deliveries used all their attempts and none succeeded, so that the service stopped sending.',
    way: 'When the receiver works, enable the endpoint, then recover what it missed on the next page.',
  },
};

const reasonOf = ({ disabled_reason }: Endpoint): Reason => DISABLED[disabled_reason ?? 'owner'];

interface Props {
  endpoint: Endpoint;
  health: Health;
}

/** Whether the endpoint receives, and otherwise what disabled it. */
export function EndpointState({ endpoint, health }: Props) {
  const state = stateOf(endpoint, health);
  if (state === 'disabled') return <span class="badge bad">{reasonOf(endpoint).badge}</span>;
  return state === 'failing' ? <span class="badge warn">failing</span> : <span class="badge good">enabled</span>;
}

/** Why an endpoint gets nothing, or fails, and the way back. Null for an endpoint that works. */
export function Trouble({ endpoint, health, editor }: Props & { editor: boolean }) {
  const state = stateOf(endpoint, health);
  if (state === 'failing' && health) return <Failing endpoint={endpoint} health={health} />;
  if (state !== 'disabled') return null;
  const { title, why, way } = reasonOf(endpoint);
  const missed = health?.missed;
  return (
    <Banner tone="bad" title={title}>
      <p>
        {why}
        {missed &&
          ` It has missed ${missed.count === 0 ? 'no event' : countOf(missed.count, 'event', 'events', missed.more)} so far.`}
      </p>
      <p>{way}</p>
      {editor && endpoint.disabled_reason !== 'operator' && (
        <PostButton action={`${endpointPath(endpoint.webhookId)}/enable`}>Enable and count what it missed</PostButton>
      )}
    </Banner>
  );
}

function Failing({ endpoint, health }: { endpoint: Endpoint; health: EndpointHealth }) {
  const { lastFailure, lastSuccessAt, pending } = health;
  return (
    <Banner tone="warn" title="The latest attempt failed">
      {lastFailure && (
        <p>
          {receiverSentence([lastFailure])} This was <RelativeTime at={lastFailure.at} />.{' '}
          {lastSuccessAt ? (
            <>
              The last success was <RelativeTime at={lastSuccessAt} />.
            </>
          ) : (
            'Nothing has succeeded yet.'
          )}
        </p>
      )}
      {pending.count > 0 && (
        <p>
          <Waiting pending={pending} /> Deliveries go on by themselves when the receiver works again; to send one now,
          open it <a href={`/console/deliveries?endpoint=${endpoint.webhookId}&status=pending`}>in the list</a>.
        </p>
      )}
    </Banner>
  );
}

/** `12 deliveries wait; the next attempt is in 4 min.` */
export function Waiting({ pending: { count, more, nextAttemptAt } }: Pick<EndpointHealth, 'pending'>) {
  if (count === 0) return <>Nothing waits.</>;
  const deliveries = countOf(count, 'delivery waits', 'deliveries wait', more).replace(/^m/, 'M');
  if (!nextAttemptAt) return <>{deliveries}.</>;
  return (
    <>
      {deliveries}; the next attempt is {nextAttemptAt > new Date() ? <RelativeTime at={nextAttemptAt} /> : 'due now'}.
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

/** What comes next for an endpoint that nothing was sent to yet. */
export function Untried({ makesTransfers }: { makesTransfers: boolean }) {
  if (!makesTransfers) {
    return <p class="muted">Nothing was sent here yet. The next change of a transfer's status will be.</p>;
  }
  return (
    <p>
      Nothing was sent here yet. Next: <a href={MOVING_TRANSFER}>make a sandbox transfer</a> that moves by itself, and
      see its events arrive.
    </p>
  );
}
