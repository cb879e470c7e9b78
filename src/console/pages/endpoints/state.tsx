import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { z } from 'zod';
import type { EndpointHealth } from '../../../endpoints/health.js';
import { etagOf } from '../../../http/etag.js';
import type { endpointView } from '../../../http/schemas/endpoint.js';
import { PostButton, timeValue } from '../../components/parts.js';
import { countOf, countText, NextAttempt, Now, RelativeTime, Untrusted } from '../../components/values.js';
import { outcomeText } from '../delivery-texts.js';
import { endpointPath } from '../paths.js';

// The state of an endpoint, in a word and in sentences: why it is in trouble, and how to get out of it.

export type Endpoint = z.output<typeof endpointView>;

type Health = EndpointHealth | undefined;

/** `untried`: no attempt is known, so nobody can say that it works. `failing`: its latest attempt failed. */
export function stateOf({ enabled }: Endpoint, health: Health): keyof typeof TONES {
  if (!enabled) return 'disabled';
  const { lastSuccessAt, lastFailure, pending } = health ?? {};
  if (lastFailure && (!lastSuccessAt || lastFailure.at > lastSuccessAt)) return 'failing';
  return health && !lastSuccessAt && pending?.count === 0 ? 'untried' : 'enabled';
}

const TONES = { disabled: 'bad', failing: 'warn', untried: '', enabled: 'good' } as const;

interface Props {
  endpoint: Endpoint;
  health: Health;
}

export function EndpointState({ endpoint, health }: Props) {
  const state = stateOf(endpoint, health);
  return <span class={`badge ${TONES[state]}`}>{state}</span>;
}

const DISABLED: Readonly<Record<NonNullable<Endpoint['disabled_reason']>, string>> = {
  owner: 'Disabled by you',
  operator: 'Disabled by the operator',
  gone: 'Disabled: the receiver responded with 410 Gone',
  failing: 'Disabled by the service: it kept failing',
};

/** Why an endpoint is in trouble, in a line. */
export function troubleText({ enabled, disabled_reason }: Endpoint, health: Health): ComponentChildren {
  if (!enabled) return DISABLED[disabled_reason ?? 'owner'];
  if (!health?.lastFailure) return 'Failing';
  const { lastFailure, failingSince, pending } = health;
  return (
    <>
      {outcomeText(lastFailure)}, first <RelativeTime at={failingSince ?? lastFailure.at} />,{' '}
      {countOf(pending.count, 'delivery', 'deliveries', pending.more)} pending
    </>
  );
}

/**
 * Why an endpoint receives nothing, or fails, and what to do. Null for an endpoint that works.
 * @param name leads to its page, where a page shows several endpoints
 */
export function Trouble({ endpoint, health, editor, name }: Props & { editor: boolean; name?: string | undefined }) {
  const now = useContext(Now);
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
    const { lastFailure, failingSince, pending, ended } = health;
    return (
      <div class="banner warn">
        {head(outcomeText(lastFailure))}
        <p>
          First failure: <RelativeTime at={failingSince ?? lastFailure.at} />. Latest failure:{' '}
          <RelativeTime at={lastFailure.at} />. Last success: <LastSuccess health={health} />. Pending deliveries:{' '}
          <Pending pending={pending} />
        </p>
        <p class="row">
          <a href={`/console/deliveries?webhookId=${endpoint.webhookId}`}>See its deliveries</a>
          {editor && ended.count > 0 && (
            <a href={`${path}/statement`}>
              Recover {countOf(ended.count, 'failed delivery', 'failed deliveries', ended.more)}
            </a>
          )}
        </p>
        {editor && health.pendingSince && pending.nextAttemptAt && pending.nextAttemptAt > now && (
          <SendPending webhookId={endpoint.webhookId} since={health.pendingSince} />
        )}
      </div>
    );
  }
  if (state !== 'disabled') return null;
  const reason = endpoint.disabled_reason ?? 'owner';
  return (
    <div class="banner bad">
      {head(DISABLED[reason])}
      <p>
        {health?.failingSince && (
          <>
            First failure: <RelativeTime at={health.failingSince} />. Last success: <LastSuccess health={health} />.{' '}
          </>
        )}
        New events are not delivered to it.{' '}
        {reason === 'operator' ? 'Only the operator can enable it.' : 'Enable it, then recover what it missed.'}
      </p>
      {editor && reason !== 'operator' && (
        <PostButton action={`${path}/enable`} fields={{ etag: etagOf(endpoint) }}>
          Enable and count what it missed
        </PostButton>
      )}
    </div>
  );
}

/** Starts a recovery that sends what waits for its next attempt. @param since of the oldest such event */
export function SendPending({ webhookId, since }: { webhookId: string; since: Date }) {
  return (
    <PostButton
      action={`${endpointPath(webhookId)}/recover`}
      fields={{ since: timeValue(since), include_pending: 'on' }}
      note={<span class="muted">What failed since then is sent again too.</span>}
    >
      Send everything pending now
    </PostButton>
  );
}

/** `12 next in 4 min` */
export function Pending({ pending: { count, more, nextAttemptAt } }: Pick<EndpointHealth, 'pending'>) {
  return (
    <>
      {countText(count)}
      {more && '+'} {nextAttemptAt && <NextAttempt at={nextAttemptAt} />}
    </>
  );
}

export function LastSuccess({ health }: { health: Health }) {
  return health?.lastSuccessAt ? <RelativeTime at={health.lastSuccessAt} /> : <>none yet</>;
}
