import type { z } from 'zod';
import type { recoveryView } from '../../../http/schemas/recovery.js';
import { sizeOf } from '../../../recoveries/start-recovery.js';
import { Empty, type Listed, Pager, Table } from '../../components/lists.js';
import { Live, PostButton } from '../../components/parts.js';
import { countText, Time } from '../../components/values.js';
import { form, isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { endpointPage } from './endpoint.js';

type Recovery = z.output<typeof recoveryView>;

/** The recoveries of an endpoint, with the progress of each. */
const recoveriesPage = endpointPage('recoveries', {
  points: 3,
  async view({ visit, path }) {
    const { operations, params, query } = visit;
    const cursor = query.get('cursor') ?? undefined;
    const { data, next_cursor } = await operations.read<Listed<Recovery>>('listRecoveries', {
      params,
      query: { cursor },
    });
    const here = `${path}/recoveries`;
    return (
      <Live id="recoveries" class="stack" path={here} query={query}>
        {data.length === 0 ? (
          <Empty title="No recoveries yet">
            <p>
              A recovery sends again what failed, was cancelled, waits or is missing.{' '}
              <a href={`${path}/statement`}>Count what this endpoint missed</a>
            </p>
          </Empty>
        ) : (
          <Table<Recovery>
            rows={data}
            row={({ id, status }) => ({ id: `recovery-${id}`, 'data-announce': `Recovery ${status}` })}
            columns={{
              Started: ({ created_at }) => <Time at={created_at} />,
              Status: ({ status }) => <span class={`badge ${TONES[status]}`}>{status}</span>,
              Queued: ({ started, ...size }) => `${countText(started)} of ${countText(sizeOf(size))}`,
              'Events from': ({ since }) => <Time at={since} />,
              'Events until': ({ until }) => <Time at={until} />,
              Ended: ({ id, finished_at }) =>
                finished_at ? (
                  <Time at={finished_at} />
                ) : (
                  isEditor(visit) && (
                    <PostButton action={`${here}/${id}/cancel`} class="danger">
                      Cancel
                    </PostButton>
                  )
                ),
            }}
          />
        )}
        <Pager path={here} query={query} nextCursor={next_cursor} />
      </Live>
    );
  },
});

const TONES = { running: 'warn', completed: 'good', cancelled: 'muted' } as const;

const cancel = form({
  path: '/console/endpoints/{webhookId}/recoveries/{id}/cancel',
  scope: 'webhooks:write',
  async submit({ operations, params }) {
    await operations.change('cancelRecovery', { params });
    return seeOther(`${endpointPath(params.webhookId)}/recoveries`, 'The recovery is cancelled.');
  },
});

export const recoveryPages = [recoveriesPage, cancel];
