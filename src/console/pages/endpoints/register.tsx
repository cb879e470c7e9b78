import { form, page, seeOther } from '../../page.js';
import { type Endpoint, pathOf, WRITE } from './endpoint.js';
import { concurrencyOf, descriptionOf, EndpointFields, SecretField } from './form.js';

const registerPage = page({
  path: '/console/endpoints/new',
  scope: WRITE,
  points: 2,
  title: 'Register an endpoint',
  view: ({ refused, config }) => (
    <>
      <h1>Register an endpoint</h1>
      <form class="card" method="post" action="/console/endpoints">
        <EndpointFields refused={refused} config={config} />
        <SecretField refused={refused} />
        <p class="actions">
          <button type="submit" class="primary">
            Register
          </button>
          <a href="/console/endpoints">Cancel</a>
        </p>
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
  scope: WRITE,
  page: registerPage,
  async submit({ operations }, fields) {
    const body = {
      url: fields.get('url') ?? '',
      secret: fields.get('secret') ?? '',
      description: descriptionOf(fields),
      max_concurrency: concurrencyOf(fields),
    };
    const { webhookId } = await operations.change<Endpoint>('registerWebhookEndpoint', { body });
    return seeOther(pathOf(webhookId), 'The endpoint is registered. Events that are made from now on are sent to it.');
  },
});

export const registerPages = [registerPage, register];
