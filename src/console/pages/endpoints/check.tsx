import { Refusal } from '../../../refusal.js';
import { Live } from '../../components/live.js';
import { form, page, seeOther } from '../../page.js';
import { type Check, CheckReport } from './check-report.js';
import { type Endpoint, isEditor, pathOf, READ, readEndpoint, WRITE } from './endpoint.js';
import { EndpointHead } from './head.js';

const checkPage = page({
  path: '/console/endpoints/{webhookId}/check',
  scope: READ,
  points: 3,
  title: 'Receiver check',
  async view(visit) {
    if (visit.config.environment !== 'sandbox') throw new Refusal('not_found', 'Only the sandbox checks receivers.');
    const endpoint = await readEndpoint(visit);
    const id = visit.query.get('id');
    const check =
      id === null
        ? undefined
        : await visit.operations.read<Check>('getReceiverCheck', { params: { webhookId: endpoint.webhookId, id } });
    return (
      <>
        <EndpointHead endpoint={endpoint} here="check" visit={visit} />
        <p>
          Nine requests go to your receiver as every delivery does: five that it should accept, and four that it should
          refuse because their signature is not right. Nothing of the endpoint changes, and no event is made.
        </p>
        <Live id="check" class="stack" path={`${pathOf(endpoint.webhookId)}/check`} query={visit.query}>
          {check && <CheckReport check={check} />}
          {check?.status !== 'running' && (
            <Start endpoint={endpoint} again={check !== undefined} editor={isEditor(visit)} />
          )}
        </Live>
      </>
    );
  },
});

function Start({ endpoint, again, editor }: { endpoint: Endpoint; again: boolean; editor: boolean }) {
  if (!editor) return again ? null : <p class="muted">Your session is view only. An editor starts the check.</p>;
  if (!endpoint.enabled) return <p class="caution">The endpoint is disabled. Enable it to check its receiver.</p>;
  return (
    <form class="inline" method="post" action={`${pathOf(endpoint.webhookId)}/check`}>
      <button type="submit" class={again ? undefined : 'primary'}>
        {again ? 'Check again' : 'Check the receiver'}
      </button>
    </form>
  );
}

const start = form({
  path: '/console/endpoints/{webhookId}/check',
  scope: WRITE,
  page: checkPage,
  async submit({ operations, params: { webhookId } }) {
    const { id } = await operations.change<{ id: string }>('checkReceiver', { params: { webhookId } });
    return seeOther(`${pathOf(webhookId)}/check?id=${id}`);
  },
});

export const checkPages = [checkPage, start];
