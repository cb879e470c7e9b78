import type { AttemptError } from '../../../attempts.js';
import { readSentAttempt, type SentAttempt } from '../../../webhooks/read-sent-attempt.js';
import type { KeptHeaders } from '../../../webhooks/sender/kept-headers.js';
import { CopyButton } from '../../components/copy.js';
import { Field } from '../../components/field.js';
import { Time } from '../../components/time.js';
import { Untrusted, UntrustedLines } from '../../components/untrusted.js';
import { form, page, seeOther, type Visit } from '../../page.js';
import { curlCommand } from './curl.js';
import { eventPath } from './find.js';
import { receiverSentence } from './outcome.js';
import { sentHeaders } from './sent-headers.js';
import { attemptPath } from './time-line.js';

/** `/console/deliveries/{id}/attempts/{number}`: the request and the answer of one attempt. */
export const attemptPage = page({
  path: '/console/deliveries/{id}/attempts/{number}',
  scope: 'webhooks:read',
  under: '/console/events',
  points: 3,
  title: ({ params }) => `Attempt ${params.number}`,
  async view(visit) {
    const { id: deliveryId, number } = visit.params;
    const { clientId, scopes } = visit.session;
    // A reader that changes nothing gets no signature: with it, the request could be sent again for five minutes.
    const masterKeys = scopes.has('webhooks:write') ? visit.masterKeys : null;
    const name = { deliveryId, number: Number(number) };
    const sent = await visit.read((db) => readSentAttempt(db, masterKeys, clientId, name));
    return <AttemptView visit={visit} sent={sent} />;
  },
});

/** `…/explain-signature`: why the receiver computed another digest. The digest itself is never shown or kept. */
export const explainForm = form({
  path: '/console/deliveries/{id}/attempts/{number}/explain-signature',
  scope: 'webhooks:write',
  page: attemptPage,
  async submit(visit, fields) {
    const { id, number } = visit.params;
    const { explanation, detail } = await visit.operations.change<{ explanation: string; detail: string }>(
      'explainSignature',
      { params: { id, number }, body: { v0: fields.get('v0') ?? '' } },
    );
    return seeOther(attemptPath(id, Number(number)), `${explanation}: ${detail.replaceAll('`', '')}`);
  },
});

function AttemptView({ visit, sent }: { visit: Visit; sent: SentAttempt }) {
  const { attempt, eventId } = sent;
  const { deliveryId, number } = attempt;
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <a href="/console/events">Events</a> <a href={eventPath(eventId, deliveryId)}>Event</a>
      </nav>
      <h1>Attempt {number}</h1>
      <div class="stack" data-part="">
        <p class="rung-head">
          <span>
            {receiverSentence([
              { error: attempt.error as AttemptError | null, responseStatus: attempt.responseStatus },
            ])}
          </span>
          <Time at={attempt.startedAt.toISOString()} />
          <span class="muted">took {attempt.durationMs} ms</span>
        </p>
        <RequestView sent={sent} />
        <AnswerView sent={sent} />
        {visit.session.scopes.has('webhooks:write') && (
          <ExplainView deliveryId={deliveryId} number={number} visit={visit} />
        )}
      </div>
    </>
  );
}

function RequestView({ sent }: { sent: SentAttempt }) {
  const { attempt, body } = sent;
  const id = `${attempt.deliveryId}-${attempt.number}`;
  const headers = sentHeaders(sent);
  const command = curlCommand({ method: 'POST', url: attempt.url, headers, body });
  return (
    <section class="stack" aria-labelledby={`request-${id}`}>
      <h3 id={`request-${id}`}>Request</h3>
      <p class="mono">
        POST <Untrusted text={attempt.url} />
      </p>
      <Headers headers={headers} />
      <UntrustedLines label={`Body of attempt ${attempt.number}`} text={body} />
      <details>
        <summary>As curl</summary>
        <div class="stack">
          <CopyButton copies={command} label="Copy the command" />
          <UntrustedLines label={`Command for attempt ${attempt.number}`} text={command} />
          <p class="muted">
            {sent.v0 === null
              ? 'The signature is not shown, so that a receiver refuses this request.'
              : 'The signature is valid for five minutes after its time.'}
          </p>
        </div>
      </details>
    </section>
  );
}

function AnswerView({ sent: { attempt } }: { sent: SentAttempt }) {
  const headers = Object.entries((attempt.responseHeaders ?? {}) as KeptHeaders);
  const id = `answer-${attempt.deliveryId}-${attempt.number}`;
  return (
    <section class="stack" aria-labelledby={id}>
      <h3 id={id}>Answer {attempt.responseStatus}</h3>
      {attempt.responseStatus === null && <p class="muted">No answer came.</p>}
      {headers.length > 0 && <Headers headers={headers} />}
      {attempt.responseBody === null ? (
        attempt.responseStatus !== null && <p class="muted">The answer has no body.</p>
      ) : (
        <>
          <UntrustedLines label={`Body of the answer to attempt ${attempt.number}`} text={attempt.responseBody} />
          <p class="muted">At most the first 4 KiB.</p>
        </>
      )}
    </section>
  );
}

function Headers({ headers }: { headers: readonly (readonly [string, string])[] }) {
  return (
    <dl class="headers">
      {headers.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Untrusted text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function ExplainView({ deliveryId, number, visit }: { deliveryId: string; number: number; visit: Visit }) {
  return (
    <details open={visit.refused !== undefined}>
      <summary>Why was my signature refused?</summary>
      <form method="post" action={`${attemptPath(deliveryId, number)}/explain-signature`}>
        <Field
          label="The digest that your receiver computed"
          name="v0"
          class="mono"
          maxLength={512}
          required
          autoComplete="off"
          refused={visit.refused}
          hint="The usual mistakes are tried on the bytes of this attempt. The digest is not kept."
        />
        <button type="submit">Explain</button>
      </form>
    </details>
  );
}
