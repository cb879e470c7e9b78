import { readSentAttempt, type SentAttempt } from '../../checks/explain-signature.js';
import { DELIVERY_HEADERS, type KeptHeaders, SIGNATURE_HEADER } from '../../delivery/sender/headers.js';
import type { AttemptError } from '../../platform/vocabulary.js';
import { Facts, Field, Up } from '../components/parts.js';
import { CopyButton, durationText, JsonText, Time, Untrusted, UntrustedLines } from '../components/values.js';
import { form, isEditor, page, seeOther, type Visit } from '../page.js';
import { isRejection, receiverSentence } from './delivery-texts.js';
import { attemptPath, eventPath, explainId } from './paths.js';

/** `/console/deliveries/{id}/attempts/{number}`: the request and the response of one attempt. */
export const attemptPage = page({
  path: '/console/deliveries/{id}/attempts/{number}',
  scope: 'webhooks:read',
  under: '/console/events',
  points: 4,
  title: ({ params }) => `Attempt ${params.number}`,
  showsSignature: true,
  async view(visit) {
    const { params, session, masterKeys } = visit;
    const name = { deliveryId: params.id, number: Number(params.number) };
    const sent = await visit.read((db) => readSentAttempt(db, masterKeys, session.clientId, name));
    const { attempt, eventId } = sent;
    return (
      <>
        <Up to={eventPath(eventId, params.id)}>Event</Up>
        <h1>Attempt {params.number}</h1>
        {/* The part that the page of the event loads. */}
        <div class="stack" data-part="">
          <p class="row">
            <span>{receiverSentence([{ ...attempt, error: attempt.error as AttemptError | null }])}</span>
            <Time at={attempt.startedAt} ago />
            <span class="muted">took {durationText(attempt.durationMs)}</span>
          </p>
          {attempt.detail !== null && <p>{attempt.detail}</p>}
          <ResponseView sent={sent} />
          {isEditor(visit) && isRejection(attempt) && (
            <ExplainView deliveryId={params.id} number={attempt.number} visit={visit} />
          )}
          <RequestView sent={sent} />
        </div>
      </>
    );
  },
});

/** `…/explain-signature`: why the receiver computed another digest. The digest is neither shown nor kept. */
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
    return seeOther(attemptPath(id, number), `${explanation}: ${detail.replaceAll('`', '')}`);
  },
});

function RequestView({ sent }: { sent: SentAttempt }) {
  const { attempt, body } = sent;
  const id = `${attempt.deliveryId}-${attempt.number}`;
  // As sent (spec §4); an unknown signature is masked.
  const headers: Headers = [...DELIVERY_HEADERS, [SIGNATURE_HEADER, `t=${attempt.t},v0=${sent.v0 ?? MASKED}`]];
  const command = curlCommand(attempt.url, headers, body);
  return (
    <section class="stack" aria-labelledby={`request-${id}`}>
      <h2 id={`request-${id}`}>Request</h2>
      <p class="mono">
        POST <Untrusted text={attempt.url} />
      </p>
      <HeaderList headers={headers} />
      <JsonText label={`Body of attempt ${attempt.number}`} text={body} />
      <details>
        <summary>curl command</summary>
        <div class="stack">
          <CopyButton copies={command} label="Copy the command" />
          <UntrustedLines label={`Command for attempt ${attempt.number}`} text={command} />
          <p class="muted">
            {sent.v0 === null
              ? 'The signature is masked, so a receiver rejects this request.'
              : 'The signature is valid for five minutes after its timestamp.'}
          </p>
        </div>
      </details>
    </section>
  );
}

/** A body of at least 4 KiB was cut there, perhaps within a character. */
const KEPT_BYTES = 4_096 - 4;

function ResponseView({ sent: { attempt } }: { sent: SentAttempt }) {
  const headers = Object.entries((attempt.responseHeaders ?? {}) as KeptHeaders);
  const id = `response-${attempt.deliveryId}-${attempt.number}`;
  return (
    <section class="stack" aria-labelledby={id}>
      <h2 id={id}>Response {attempt.responseStatus}</h2>
      {attempt.responseStatus === null && <p class="muted">There was no response.</p>}
      {headers.length > 0 && <HeaderList headers={headers} />}
      {attempt.responseBody === null ? (
        attempt.responseStatus !== null && <p class="muted">The response has no body.</p>
      ) : (
        <>
          <JsonText label={`Body of the response to attempt ${attempt.number}`} text={attempt.responseBody} />
          {Buffer.byteLength(attempt.responseBody) > KEPT_BYTES && <p class="hint">Only the first 4 KiB are kept.</p>}
        </>
      )}
    </section>
  );
}

function HeaderList({ headers }: { headers: Headers }) {
  return (
    <Facts
      class="headers"
      of={Object.fromEntries(headers.map(([name, value]) => [name, <Untrusted text={value} />]))}
    />
  );
}

function ExplainView({ deliveryId, number, visit }: { deliveryId: string; number: number; visit: Visit }) {
  return (
    <details id={explainId(deliveryId, number)} open={visit.refused !== undefined}>
      <summary>Why was my signature rejected?</summary>
      <form class="stack narrow" method="post" action={`${attemptPath(deliveryId, number)}/explain-signature`}>
        <Field
          label="Digest that your receiver computed"
          name="v0"
          class="mono"
          maxLength={512}
          required
          autoComplete="off"
          hint="64 hexadecimal digits, from the receiver's log of this attempt. They are compared with the results of common mistakes, and not kept."
        />
        <button type="submit">Explain</button>
      </form>
    </details>
  );
}

/** Replaces a signature that the reader may not see, or that can no longer be computed. */
const MASKED = '*'.repeat(64);

type Headers = readonly (readonly [name: string, value: string])[];

/**
 * A request with these headers as a command for a POSIX shell. Every argument is single-quoted, so that no character of URL or body has a
 * meaning for the shell; `--globoff` takes the meaning of `{}[]` for curl, and `--data-raw` that of a leading `@`.
 * @param body sent unchanged; it must not contain U+0000, which no argument can hold
 */
export function curlCommand(url: string, headers: Headers, body: string): string {
  const options = [
    ['--request', 'POST'],
    ['--url', url],
    ...headers.map(([name, value]) => ['--header', `${name}: ${value}`]),
    ['--data-raw', body],
  ];
  return ['curl --globoff', ...options.map(([name = '', value = '']) => `${name} ${quoted(value)}`)].join(' \\\n  ');
}

/** In single quotes everything is literal but the quote itself (POSIX.1-2024, Shell Command Language §2.2.2). */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
