import type { ComponentChildren } from 'preact';
import { countPending, pendingText } from '../../../endpoints/disable.js';
import type { Config } from '../../../platform/config/config.js';
import { MAX_CONCURRENCY } from '../../../platform/vocabulary.js';
import { Field, Submit } from '../../components/parts.js';
import { Untrusted } from '../../components/values.js';
import { form, page, type SeeOther, seeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';
import { changeEndpoint, type Endpoint, type EndpointVisit, endpointForm, endpointPage } from './endpoint.js';

const registerPage = page({
  path: '/console/endpoints/new',
  scope: 'webhooks:write',
  points: 2,
  title: 'Register an endpoint',
  view: ({ config }) => (
    <>
      <h1>Register an endpoint</h1>
      <form class="card stack narrow" method="post" action="/console/endpoints">
        <EndpointFields config={config} />
        <SecretField />
        <Submit cancel="/console/endpoints">Register</Submit>
      </form>
      {config.receivers.allowPrivate && (
        <p class="hint">
          No receiver yet? <code>npx transfer-service listen --port 4000 --secret-file FILE</code> prints what arrives.
          FILE contains the secret. With <code>--fail 3</code> it first responds with 500 three times.
        </p>
      )}
      <p class="hint">It receives the events created from now on. To send earlier ones, recover them on its page.</p>
    </>
  ),
});

const register = form({
  path: '/console/endpoints',
  scope: 'webhooks:write',
  page: registerPage,
  async submit({ operations }, fields) {
    const body = { ...endpointOf(fields), secret: fields.get('secret') ?? '' };
    const { webhookId } = await operations.change<Endpoint>('registerWebhookEndpoint', { body });
    return seeOther(endpointPath(webhookId), 'The endpoint is registered. It receives the events created from now on.');
  },
});

export const registerPages = [registerPage, register];

/** The field with `updated_at` of the endpoint that the form shows. */
const SHOWN = 'shown';

const editPage = endpointPage('edit', {
  points: 2,
  async view({ visit, endpoint, path }) {
    return (
      <>
        {visit.refused?.refusal.code === 'endpoint_changed' && <Present endpoint={endpoint} />}
        <form class="card stack narrow" method="post" action={`${path}/edit`}>
          <input type="hidden" name={SHOWN} value={endpoint.updated_at} />
          <EndpointFields endpoint={endpoint} config={visit.config} />
          <Submit cancel={path}>Save</Submit>
        </form>
        <p class="hint">
          Pending deliveries go to the new URL. To change the secret,{' '}
          <a href={`${path}/new-secret`}>switch to a new one</a>.
        </p>
      </>
    );
  },
});

/** What another editor saved, beside the fields that this editor typed. */
function Present({ endpoint: { url, description, max_concurrency } }: { endpoint: Endpoint }) {
  return (
    <p class="banner warn">
      It now has the URL <Untrusted text={url} />
      {description ? (
        <>
          {' '}
          and the description <Untrusted text={description} />
        </>
      ) : (
        ' and no description'
      )}
      {max_concurrency !== null && `, and at most ${max_concurrency} concurrent deliveries`}. Saving replaces them with
      the fields below.
    </p>
  );
}

const edit = endpointForm('edit', editPage, async (visit, fields) => {
  await changeEndpoint(visit, endpointOf(fields), fields.get(SHOWN) ?? undefined);
  return seeOther(endpointPath(visit.params.webhookId), 'Saved.');
});

export const editPages = [editPage, edit];

/** What disabling or deleting an endpoint cancels. */
async function Cancelled({ visit, endpoint }: { visit: Visit; endpoint: Endpoint }) {
  const count = await visit.read((db) => countPending(db, endpoint.webhookId));
  return <strong>{count === 0 ? 'No delivery is pending.' : `${pendingText(count)} will be cancelled.`}</strong>;
}

interface Ending {
  title: string;
  keep: string;
  /** What it changes. @param cancelled the sentence about pending deliveries */
  text(cancelled: ComponentChildren, endpoint: Endpoint, path: string): ComponentChildren;
  submit(visit: EndpointVisit): Promise<SeeOther>;
}

/** A page that says what its form cancels, and the form. */
function endingPages(end: 'disable' | 'delete', { title, keep, text, submit }: Ending) {
  const shown = endpointPage(end, {
    points: 3,
    async view({ visit, endpoint, path }) {
      return (
        <form class="card stack narrow" method="post" action={`${path}/${end}`}>
          <h2>{title}?</h2>
          {text(await Cancelled({ visit, endpoint }), endpoint, path)}
          <p class="row">
            <button type="submit" class="danger">
              {title}
            </button>
            <a href={path}>{keep}</a>
          </p>
        </form>
      );
    },
  });
  return [shown, endpointForm(end, shown, submit)];
}

export const endPages = [
  ...endingPages('disable', {
    title: 'Disable this endpoint',
    keep: 'Keep it enabled',
    text: (cancelled) => (
      <>
        <p>{cancelled} New events are not delivered to this endpoint while it is disabled.</p>
        <p>
          To undo this, enable it on its page. You can then recover everything that it missed, including what is
          cancelled now.
        </p>
      </>
    ),
    async submit(visit) {
      await changeEndpoint(visit, { enabled: false });
      const notice = 'The endpoint is disabled. Enable it here to continue and to recover what it missed.';
      return seeOther(endpointPath(visit.params.webhookId), notice);
    },
  }),
  ...endingPages('delete', {
    title: 'Delete this endpoint',
    keep: 'Keep it',
    text: (cancelled, { enabled }, path) => (
      <>
        <p>
          <strong>This cannot be undone.</strong> The secret is erased. {cancelled} Its deliveries cannot be sent again.
        </p>
        <p>
          To pause deliveries, {enabled ? <a href={`${path}/disable`}>disable the endpoint</a> : 'leave it disabled'}{' '}
          instead: what it misses can then be recovered.
        </p>
      </>
    ),
    async submit({ operations, params: { webhookId } }) {
      await operations.change('deleteWebhookEndpoint', { params: { webhookId } });
      return seeOther('/console/endpoints', 'The endpoint is deleted.');
    },
  }),
];

const MAX_URL = 2048;
const MAX_DESCRIPTION = 255;

/** The fields of an endpoint that can be changed later. */
function EndpointFields({ endpoint, config }: { endpoint?: Endpoint; config: Config }) {
  return (
    <>
      <Field
        name="url"
        label="URL"
        type="url"
        value={endpoint?.url}
        required
        maxLength={MAX_URL}
        class="mono"
        spellcheck={false}
        autoComplete="off"
        hint={urlHint(config)}
      />
      <Field
        name="description"
        label="Description"
        value={endpoint?.description}
        maxLength={MAX_DESCRIPTION}
        autoComplete="off"
        hint="Optional. Tells people what it is, such as “Orders, live”."
      />
      <Field
        name="max_concurrency"
        label="Concurrent deliveries, at most"
        class="short"
        value={endpoint?.max_concurrency?.toString()}
        maxLength={3}
        inputMode="numeric"
        autoComplete="off"
        hint={`1 to ${MAX_CONCURRENCY}. Empty: ${config.endpointConcurrency}, the default.`}
      />
    </>
  );
}

function urlHint({ environment, receivers }: Config): string {
  if (environment === 'production') return 'Where your receiver listens: https, at a public address.';
  return receivers.allowPrivate
    ? 'Where your receiver listens. In this sandbox it may be on your machine: http://localhost:4000/hooks.'
    : 'Where your receiver listens: https or http, at a public address.';
}

/**
 * The secret is sent once and never shown again: the field is empty after every error. The script shows the buttons that
 * generate, reveal and copy it.
 */
export function SecretField({ label = 'Secret' }: { label?: string }) {
  return (
    <div class="row secret">
      <Field
        name="secret"
        label={label}
        type="password"
        required
        maxLength={256}
        class="mono"
        autoComplete="new-password"
        hint="16 to 256 printable ASCII characters. Give it to your receiver too, now: it is not shown again."
      />
      <button type="button" data-secret="generate" hidden>
        Generate
      </button>
      <button type="button" data-secret="show" aria-pressed="false" hidden>
        Show
      </button>
      <button type="button" data-secret="copy" hidden>
        Copy
      </button>
    </div>
  );
}

/** The fields as the API reads them: an empty one is null. The API rejects a limit that is not a number. */
function endpointOf(fields: URLSearchParams) {
  const text = (name: string) => fields.get(name)?.trim() || null;
  const limit = text('max_concurrency');
  return {
    url: fields.get('url') ?? '',
    description: text('description'),
    max_concurrency: limit !== null && /^\d{1,15}$/.test(limit) ? Number(limit) : limit,
  };
}
