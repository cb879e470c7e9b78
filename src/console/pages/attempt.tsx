import { standardHeaders } from '../../../clients/typescript/src/standard.js';
import { readAttempt } from '../../checks/explain-signature.js';
import { DELIVERY_HEADERS, type KeptHeaders, SIGNATURE_HEADER } from '../../delivery/sender/headers.js';
import { type PublicEndpoint, withEndpoints } from '../../endpoints/endpoints.js';
import type { AttemptError } from '../../platform/vocabulary.js';
import { Facts, Field, Up } from '../components/parts.js';
import { durationText, JsonText, Time, Untrusted } from '../components/values.js';
import { form, isEditor, page, seeOther, type Visit } from '../page.js';
import { outcomeText } from './delivery-texts.js';
import { attemptPath, eventPath } from './paths.js';

/** `/console/deliveries/{id}/attempts/{number}`: the request and the response of one attempt. */
export const attemptPage = page({
  path: '/console/deliveries/{id}/attempts/{number}',
  scope: 'webhooks:read',
  under: '/console/events',
  points: 4,
  title: 'Attempt',
  async view(visit) {
    const { params, session } = visit;
    const name = { deliveryId: params.id, number: Number(params.number) };
    const attempt = await visit.read(async (db) => {
      const { delivery, ...made } = await readAttempt(db, session.clientId, name);
      const [withEndpoint] = await withEndpoints(db, [delivery]);
      if (!withEndpoint) throw new Error('a delivery has no endpoint');
      return { ...made, delivery: withEndpoint };
    });
    return (
      <>
        <Up to={eventPath(attempt.delivery.event.id, params.id)}>Event</Up>
        <h1>Attempt {params.number}</h1>
        {/* The part that the page of the event loads. */}
        <div class="stack" data-part="">
          <p class="row">
            <span>{outcomeText({ ...attempt, error: attempt.error as AttemptError | null })}</span>
            <Time at={attempt.startedAt} ago />
            <span class="muted">took {durationText(attempt.durationMs)}</span>
          </p>
          {attempt.detail !== null && <p>{attempt.detail}</p>}
          <ResponseView attempt={attempt} />
          {isEditor(visit) && attempt.error === 'status' && (
            <ExplainView deliveryId={params.id} number={attempt.number} visit={visit} />
          )}
          <RequestView attempt={attempt} />
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

type Attempt = Awaited<ReturnType<typeof readAttempt>>;
type Shown = { attempt: Attempt & { delivery: Attempt['delivery'] & { endpoint: PublicEndpoint } } };

function RequestView({ attempt }: Shown) {
  const id = `request-${attempt.deliveryId}-${attempt.number}`;
  // As sent, but for the signature: with it, anyone could send the request again for five minutes.
  // The endpoint's own headers and signatures are those that it has now.
  const { event, endpoint } = attempt.delivery;
  const headers: Headers = [
    ...DELIVERY_HEADERS,
    [SIGNATURE_HEADER, `t=${attempt.t},v0=${'*'.repeat(64)}`],
    ...(endpoint.signatures.includes('standard')
      ? Object.entries({
          ...standardHeaders({ ...attempt, id: event.id, secret: '', body: '' }),
          [V1_HEADER]: 'v1,***',
        })
      : []),
    ...endpoint.headerNames.map((name) => [name, '***'] as const),
  ];
  return (
    <section class="stack" aria-labelledby={id}>
      <div class="row between">
        <h2 id={id}>Request</h2>
        <button type="button" data-copy={curlOf(attempt)} hidden>
          Copy as curl
        </button>
      </div>
      <p class="mono">
        POST <Untrusted text={attempt.url} />
      </p>
      <HeaderList headers={headers} />
      <JsonText label={`Body of attempt ${attempt.number}`} text={attempt.delivery.event.body} />
    </section>
  );
}

/**
 * The request as a command, without the signatures: with them, anyone could send the request again for five minutes.
 * The reader's shell signs the body with the secret anew, and has the values of its own headers in variables.
 */
function curlOf({ url, delivery }: Shown['attempt']): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const { signatures, headerNames } = delivery.endpoint;
  const own = headerNames.map((name) => ` -H ${quoted(`${name}: `)}"$${variableOf(name)}"`);
  const headers = [...DELIVERY_HEADERS.map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`), ...own].join('');
  const isStandard = signatures.includes('standard');
  return [
    `BODY=${quoted(delivery.event.body)}`,
    'T=$(date -u +%Y-%m-%dT%H:%M:%SZ)',
    `V0=$(printf '%s.%s' "$T" "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" | sed 's/.*= //')`,
    ...(isStandard ? [`ID=${quoted(delivery.event.id)}`, ...SIGN_STANDARD] : []),
    `curl -sS -i -X POST${headers} -H "${SIGNATURE_HEADER}: t=$T,v0=$V0"${isStandard ? STANDARD : ''} --data-binary "$BODY" ${quoted(url)}`,
  ].join('\n');
}

const V1_HEADER = 'webhook-signature';

/** The shell's variable for the value of a header: `X-Api-Key` → `HEADER_X_API_KEY` */
const variableOf = (name: string) => `HEADER_${name.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;

/** The key, in hexadecimal for openssl, is what `whsec_` encodes, of 24 to 64 bytes, or the text of another secret. */
const SIGN_STANDARD = [
  `HEX() { od -An -v -tx1 | tr -d ' \\n'; }`,
  'KEY=$(printf %s "$WEBHOOK_SECRET" | HEX)',
  `RAW=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A 2> /dev/null | HEX)`,
  `case $WEBHOOK_SECRET in whsec_*) if [ \${#RAW} -ge 48 ] && [ \${#RAW} -le 128 ]; then KEY=$RAW; fi ;; esac`,
  'TIMESTAMP=$(date +%s)',
  `V1=$(printf '%s.%s.%s' "$ID" "$TIMESTAMP" "$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)`,
];
const STANDARD = ` -H "webhook-id: $ID" -H "webhook-timestamp: $TIMESTAMP" -H "${V1_HEADER}: v1,$V1"`;

/** A body of at least 4 KiB was cut there, perhaps within a character. */
const KEPT_BYTES = 4_096 - 4;

function ResponseView({ attempt }: Shown) {
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
    <details open={visit.refused !== undefined}>
      <summary>Why was my signature rejected?</summary>
      <form class="stack narrow" method="post" action={`${attemptPath(deliveryId, number)}/explain-signature`}>
        <Field
          label="Digest that your receiver computed"
          name="v0"
          class="mono"
          maxLength={512}
          required
          hint="64 hexadecimal digits, from the receiver's log of this attempt. They are compared with the results of common mistakes, and not kept."
        />
        <button type="submit">Explain</button>
      </form>
    </details>
  );
}

type Headers = readonly (readonly [name: string, value: string])[];
