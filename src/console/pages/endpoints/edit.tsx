import type { Config } from '../../../platform/config/config.js';
import { MAX_CONCURRENCY } from '../../../platform/vocabulary.js';
import { Field, Submit } from '../../components/forms.js';
import { Untrusted } from '../../components/values.js';
import { form, page, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { changeEndpoint, type Endpoint, endpointForm, endpointPage, healthOf } from './endpoint.js';
import { Waiting } from './state.js';

const registerPage = page({
  path: '/console/endpoints/new',
  scope: 'webhooks:write',
  points: 2,
  title: 'Register an endpoint',
  view: ({ config }) => (
    <>
      <h1>Register an endpoint</h1>
      <form class="card" method="post" action="/console/endpoints">
        <EndpointFields config={config} />
        <SecretField />
        <Submit cancel="/console/endpoints">Register</Submit>
      </form>
      {config.receivers.allowPrivate && (
        <p class="muted">
          No receiver yet? <code>npx transfer-service listen --port 4000 --secret-file FILE</code> prints what arrives.
          FILE contains the secret; with <code>--fail 3</code> it answers 500 three times first.
        </p>
      )}
      <p class="muted">
        Events that are made from now on are sent to it. Earlier ones can be sent by recovering what is missing, on the
        endpoint's page.
      </p>
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
    return seeOther(
      endpointPath(webhookId),
      'The endpoint is registered. Events that are made from now on are sent to it.',
    );
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
        <form class="card" method="post" action={`${path}/edit`}>
          <input type="hidden" name={SHOWN} value={endpoint.updated_at} />
          <EndpointFields endpoint={endpoint} config={visit.config} />
          <Submit cancel={path}>Save</Submit>
        </form>
        <p class="muted">
          Deliveries that wait go to the new URL. The secret cannot be changed here:{' '}
          <a href={`${path}/new-secret`}>switch over to a new secret</a>.
        </p>
      </>
    );
  },
});

/** What another editor saved, beside the fields that this editor typed. */
function Present({ endpoint: { url, description, max_concurrency } }: { endpoint: Endpoint }) {
  return (
    <p class="caution">
      It now has the URL <Untrusted text={url} />
      {description ? (
        <>
          {' '}
          and the description <Untrusted text={description} />
        </>
      ) : (
        ' and no description'
      )}
      {max_concurrency !== null && `, and gets at most ${max_concurrency} deliveries at the same time`}. Saving replaces
      them with the fields below.
    </p>
  );
}

const edit = endpointForm('edit', editPage, async (visit, fields) => {
  await changeEndpoint(visit, endpointOf(fields), fields.get(SHOWN) ?? undefined);
  return seeOther(endpointPath(visit.params.webhookId), 'Saved.');
});

export const editPages = [editPage, edit];

const deletePage = endpointPage('delete', {
  points: 2,
  async view({ visit, endpoint, path }) {
    const health = (await healthOf(visit)).get(endpoint.webhookId);
    return (
      <form class="card" method="post" action={`${path}/delete`}>
        <p>
          <strong>This cannot be undone.</strong> The secret is erased, and what waits is cancelled and cannot be sent
          again. {health && <Waiting pending={health.pending} />}
        </p>
        <p>To stop deliveries for a while, disable the endpoint instead: what it misses can then be recovered.</p>
        <p class="actions">
          <button type="submit" class="danger">
            Delete this endpoint
          </button>
          <a href={path}>Keep it</a>
        </p>
      </form>
    );
  },
});

const deletion = endpointForm('delete', deletePage, async ({ operations, params: { webhookId } }) => {
  await operations.change('deleteWebhookEndpoint', { params: { webhookId } });
  return seeOther('/console/endpoints', 'The endpoint is deleted.');
});

export const deletePages = [deletePage, deletion];

/** A command that makes a secret; the service takes the secret and never shows it. */
const MAKE_SECRET = 'openssl rand -hex 32';

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
        hint="Optional: how people recognise it, such as “Orders, live”."
      />
      <Field
        name="max_concurrency"
        label="Deliveries at the same time, at most"
        value={endpoint?.max_concurrency?.toString()}
        maxLength={3}
        inputMode="numeric"
        autoComplete="off"
        hint={`1 to ${MAX_CONCURRENCY}. Empty: ${config.endpointConcurrency}, the limit of the service.`}
      />
    </>
  );
}

function urlHint({ environment, receivers }: Config): string {
  if (environment === 'production') return 'Where your receiver listens: https:, at a public address.';
  return receivers.allowPrivate
    ? 'Where your receiver listens. Here it may be on your own machine, such as http://localhost:4000/hooks.'
    : 'Where your receiver listens: https: or http:, at a public address.';
}

/** The secret is sent once and never shown again: the field is empty after every refusal. */
export function SecretField({ label = 'Secret' }: { label?: string }) {
  return (
    <Field
      name="secret"
      label={label}
      type="password"
      required
      maxLength={256}
      class="mono"
      autoComplete="new-password"
      hint={
        <>
          16 to 256 printable ASCII characters, which your receiver knows too. Make one on your own machine with{' '}
          <code>{MAKE_SECRET}</code>. It cannot be read back here.
        </>
      }
    />
  );
}

/** The fields as the API takes them: an empty one is none. The API refuses a limit that is no number. */
function endpointOf(fields: URLSearchParams) {
  const text = (name: string) => fields.get(name)?.trim() || null;
  const limit = text('max_concurrency');
  return {
    url: fields.get('url') ?? '',
    description: text('description'),
    max_concurrency: limit !== null && /^\d{1,15}$/.test(limit) ? Number(limit) : limit,
  };
}
