import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import type { endpointView } from '../../../http/schemas/endpoint.js';
import { PostButton } from '../../components/parts.js';
import { countOf, RelativeTime, Untrusted } from '../../components/values.js';
import { receiverSentence } from '../delivery-texts.js';
import { endpointPath, MOVING_TRANSFER } from '../paths.js';

// The state of an endpoint, in a word and in sentences: why it is in trouble, and how to get out of it.

export type Endpoint = z.output<typeof endpointView>;

type Health = EndpointHealth | undefined;

/** `untried`: no attempt is known, so nobody can say that it works. `failing`: its latest attempt failed. */
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
    why: 'Somebody with your credentials disabled this endpoint. New events are not delivered to it.',
    way: 'Enable it, then recover what it missed on the next page.',
  },
  operator: {
    badge: 'disabled by the operator',
    title: 'Disabled by the operator',
    why: 'The operator of this service disabled this endpoint. New events are not delivered to it.',
    way: 'Only the operator can enable it: contact the operator, then recover here what it missed.',
  },
  gone: {
    badge: 'disabled: 410 Gone',
    title: 'Disabled: the receiver responded with 410 Gone',
    why: 'With 410, a receiver says that it wants no more events, so the service stopped sending to it.',
    way: 'When the receiver is back, enable the endpoint, then recover what it missed on the next page.',
  },
  failing: {
    badge: 'disabled: failing',
    title: 'Disabled: nothing succeeded for days',
    why: 'Several deliveries used up their attempts and none succeeded, so the service stopped sending.',
    way: 'When the receiver works, enable the endpoint, then recover what it missed on the next page.',
  },
};

const reasonOf = ({ disabled_reason }: Endpoint): Reason => DISABLED[disabled_reason ?? 'owner'];

interface Props {
  endpoint: Endpoint;
  health: Health;
}

/** Whether the endpoint is enabled, and otherwise what disabled it. */
export function EndpointState({ endpoint, health }: Props) {
  const state = stateOf(endpoint, health);
  if (state === 'disabled') return <span class="badge bad">{reasonOf(endpoint).badge}</span>;
  return state === 'failing' ? <span class="badge warn">failing</span> : <span class="badge good">enabled</span>;
}

/**
 * Why an endpoint receives nothing, or fails, and what to do. Null for an endpoint that works.
 * @param name leads to its page, where a page shows several endpoints
 */
export function Trouble({ endpoint, health, editor, name }: Props & { editor: boolean; name?: string | undefined }) {
  const state = stateOf(endpoint, health);
  const path = endpointPath(endpoint.webhookId);
  const head = (title: string) => (
    <h2>
      {name !== undefined && (
        <>
          <a href={path}>
            <Untrusted text={name} />
          </a>
          :{' '}
        </>
      )}
      {title}
    </h2>
  );
  if (state === 'failing' && health?.lastFailure) {
    const { lastFailure, lastSuccessAt, failingSince, pending } = health;
    const deliveries = `/console/deliveries?endpoint=${endpoint.webhookId}`;
    return (
      <div class="banner warn">
        {head(receiverSentence([lastFailure]).slice(0, -1))}
        <p>
          The latest attempt failed <RelativeTime at={lastFailure.at} />
          {failingSince && failingSince < lastFailure.at && (
            <>
              , the first <RelativeTime at={failingSince} />
            </>
          )}
          .{' '}
          {lastSuccessAt ? (
            <>
              The last success was <RelativeTime at={lastSuccessAt} />.
            </>
          ) : (
            'Nothing has succeeded yet.'
          )}{' '}
          <Pending pending={pending} /> {pending.count > 0 && 'Retries continue automatically.'}
        </p>
        <p class="row">
          <a href={deliveries}>See its deliveries</a>
          {editor && <a href={`${path}/statement`}>Recover what failed</a>}
        </p>
      </div>
    );
  }
  if (state !== 'disabled') return null;
  const { title, why, way } = reasonOf(endpoint);
  const missed = health?.missed;
  return (
    <div class="banner bad">
      {head(title)}
      <p>
        {why}
        {missed &&
          ` It has missed ${missed.count === 0 ? 'no event' : countOf(missed.count, 'event', 'events', missed.more)} so far.`}{' '}
        {way}
      </p>
      {editor && endpoint.disabled_reason !== 'operator' && (
        <PostButton action={`${path}/enable`}>Enable and count what it missed</PostButton>
      )}
    </div>
  );
}

/** `12 deliveries are pending; the next attempt is in 4 min.` */
function Pending({ pending: { count, more, nextAttemptAt } }: Pick<EndpointHealth, 'pending'>) {
  if (count === 0) return <>No delivery is pending.</>;
  const deliveries = countOf(count, 'delivery is pending', 'deliveries are pending', more).replace(/^m/, 'M');
  if (!nextAttemptAt) return <>{deliveries}.</>;
  return (
    <>
      {deliveries}; the next attempt is {nextAttemptAt > new Date() ? <RelativeTime at={nextAttemptAt} /> : 'due now'}.
    </>
  );
}

/** The next step for an endpoint that has received nothing yet. */
export function Untried({ makesTransfers }: { makesTransfers: boolean }) {
  if (!makesTransfers) {
    return <>The next change of a transfer's status is delivered here.</>;
  }
  return (
    <>
      <a href={MOVING_TRANSFER}>Make a sandbox transfer</a> that completes on its own, and watch its events arrive.
    </>
  );
}
