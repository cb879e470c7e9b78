import { pendingText } from '../../../endpoints/disable.js';
import { Refusal } from '../../../platform/refusal.js';
import { MAX_CONCURRENCY, MAX_PER_SECOND } from '../../../platform/vocabulary.js';
import { Field, Submit } from '../../components/parts.js';
import { form, page, type SeeOther, seeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';
import {
  changeEndpoint,
  type Endpoint,
  type EndpointVisit,
  endpointForm,
  endpointPage,
  readEndpoints,
  ShownState,
} from './endpoint.js';
import { HeaderFields, headersOf } from './headers.js';

const registerPage = page({
  path: '/console/endpoints/new',
  scope: 'webhooks:write',
  points: 3,
  title: 'Register an endpoint',
  view: ({ config, refused }) => (
    <>
      <h1>Register an endpoint</h1>
      <form class="card stack narrow" method="post" action="/console/endpoints">
        <EndpointFields config={config} refused={refused} />
        <SecretField />
        {refused?.refusal.errors.some(({ code }) => code === REGISTERED) && (
          <label class="check">
            <input type="checkbox" name="again" />
            <span>Register this URL once more: each event then arrives twice</span>
          </label>
        )}
        <Submit cancel="/console/endpoints">Register</Submit>
      </form>
      <p class="hint">It receives the events created from now on. To send earlier ones, recover them on its page.</p>
    </>
  ),
});

const register = form({
  path: '/console/endpoints',
  scope: 'webhooks:write',
  page: registerPage,
  async submit(visit, fields) {
    const { operations } = visit;
    if (!fields.has('again')) await refuseRegistered(visit, fields.get('url'));
    const body = { ...endpointOf(fields), secret: fields.get('secret') ?? '' };
    const { webhookId } = await operations.change<Endpoint>('registerWebhookEndpoint', { body });
    return seeOther(endpointPath(webhookId), 'The endpoint is registered. It receives the events created from now on.');
  },
});

const REGISTERED = 'already_registered';

/** The second endpoint of a URL doubles every event: a person is asked first. */
async function refuseRegistered(visit: Visit, url: string | null): Promise<void> {
  const same = (await readEndpoints(visit)).find((one) => one.enabled && one.url === url);
  if (!same) return;
  const detail = `is the URL of the enabled endpoint ${same.webhookId}. To change the secret, use “New secret” on its page`;
  throw new Refusal('invalid_request', `url ${detail}.`, [{ pointer: '/url', code: REGISTERED, detail }]);
}

export const registerPages = [registerPage, register];

const editPage = endpointPage('edit', {
  points: 2,
  async view({ visit, endpoint, path }) {
    return (
      <>
        <form class="card stack narrow" method="post" action={`${path}/edit`}>
          <ShownState visit={visit} endpoint={endpoint} />
          <EndpointFields endpoint={endpoint} config={visit.config} refused={visit.refused} />
          <Submit cancel={path}>Save</Submit>
        </form>
        <p class="hint">Pending deliveries go to the new URL. “New secret” changes the secret.</p>
      </>
    );
  },
});

const edit = endpointForm('edit', editPage, async (visit, fields) => {
  await changeEndpoint(visit, endpointOf(fields), fields.get('etag') ?? undefined);
  return seeOther(endpointPath(visit.params.webhookId), 'Saved.');
});

export const editPages = [editPage, edit];

/** A page that says what its form cancels, and the form. */
function endingPages(
  end: 'disable' | 'delete',
  effect: string,
  submit: (visit: EndpointVisit, ifMatch: string | undefined) => Promise<SeeOther>,
) {
  const shown = endpointPage(end, {
    points: 3,
    async view({ visit, endpoint, path }) {
      const pending = await visit.read((db) => pendingText(db, endpoint.webhookId));
      return (
        <section class="card stack narrow" aria-label="Confirmation">
          <p>
            <strong>{pending} will be cancelled.</strong> {effect}
          </p>
          <form class="row" method="post" action={`${path}/${end}`}>
            <ShownState visit={visit} endpoint={endpoint} />
            <button type="submit" class="danger">
              {end === 'disable' ? 'Disable this endpoint' : 'Delete this endpoint'}
            </button>
            <a href={path}>Cancel</a>
          </form>
        </section>
      );
    },
  });
  return [shown, endpointForm(end, shown, (visit, fields) => submit(visit, fields.get('etag') ?? undefined))];
}

export const endPages = [
  ...endingPages(
    'disable',
    'New events are not delivered to it either. Once it is enabled again, you can recover what it missed.',
    async (visit, ifMatch) => {
      await changeEndpoint(visit, { enabled: false }, ifMatch);
      return seeOther(endpointPath(visit.params.webhookId), 'The endpoint is disabled.');
    },
  ),
  ...endingPages(
    'delete',
    'This cannot be undone. The secret is erased. To pause deliveries, disable the endpoint instead.',
    async ({ operations, params: { webhookId } }, ifMatch) => {
      await operations.change('deleteWebhookEndpoint', { params: { webhookId }, ifMatch });
      return seeOther('/console/endpoints', 'The endpoint is deleted.');
    },
  ),
];

/** The fields of an endpoint that can be changed later. */
function EndpointFields({
  endpoint,
  config,
  refused,
}: {
  endpoint?: Endpoint;
  config: Visit['config'];
  refused: Visit['refused'] | undefined;
}) {
  const isStandard = refused ? refused.fields.has('standard') : endpoint?.signatures.includes('standard');
  const where = config.receivers.allowPrivate ? 'such as http://localhost:4000/hooks' : 'at a public address';
  return (
    <>
      <Field
        name="url"
        label="URL"
        type="url"
        value={endpoint?.url}
        required
        class="mono"
        hint={`Where your receiver listens, ${where}.`}
      />
      <Field
        name="description"
        label="Description"
        value={endpoint?.description}
        hint="Optional. Tells people what it is, such as “Orders, live”."
      />
      <Field
        name="max_concurrency"
        label="Concurrent deliveries, at most"
        class="short"
        value={endpoint?.max_concurrency?.toString()}
        inputMode="numeric"
        hint={`1 to ${MAX_CONCURRENCY}. Empty: ${config.endpointConcurrency}, the default.`}
      />
      <Field
        name="max_per_second"
        label="Deliveries per second, at most"
        class="short"
        value={endpoint?.max_per_second?.toString()}
        inputMode="numeric"
        hint={`1 to ${MAX_PER_SECOND}. Empty: no limit.`}
      />
      <label class="check">
        <input type="checkbox" name="standard" checked={isStandard} />
        <span>Sign by Standard Webhooks too</span>
      </label>
      <HeaderFields stored={endpoint?.headers.map(({ name }) => name)} />
    </>
  );
}

/**
 * The secret is sent once and never shown again: the field is empty after every error. The script shows the buttons
 * that generate, reveal and copy it.
 */
export function SecretField() {
  return (
    <div class="row secret">
      <Field
        name="secret"
        label="Secret"
        type="password"
        required
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
  const limit = (name: string) => {
    const typed = text(name);
    return typed !== null && /^\d{1,15}$/.test(typed) ? Number(typed) : typed;
  };
  return {
    url: fields.get('url') ?? '',
    description: text('description'),
    max_concurrency: limit('max_concurrency'),
    max_per_second: limit('max_per_second'),
    signatures: fields.has('standard') ? ['standard'] : [],
    headers: headersOf(fields),
  };
}
