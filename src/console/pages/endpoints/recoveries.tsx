import type { z } from 'zod';
import type { recoveryView } from '../../../http/schemas/recovery.js';
import { Empty, type Listed, Pager, Table } from '../../components/lists.js';
import { Live, PostButton } from '../../components/parts.js';
import { countOf, countText, Time } from '../../components/values.js';
import { form, isEditor, seeOther } from '../../page.js';
import { endpointPath } from '../paths.js';
import { endpointPage } from './endpoint.js';

export type Recovery = z.output<typeof recoveryView>;

/** The recoveries of an endpoint. The one that runs shows its progress, which a person may watch for an hour. */
const recoveriesPage = endpointPage('recoveries', {
  points: 3,
  async view({ visit, path }) {
    const { operations, params, query } = visit;
    const cursor = query.get('cursor') ?? undefined;
    const { data, next_cursor } = await operations.read<Listed<Recovery>>('listRecoveries', {
      params,
      query: { cursor },
    });
    const running = data.filter(({ status }) => status === 'running');
    const here = `${path}/recoveries`;
    return (
      <Live id="recoveries" class="stack" path={here} query={query}>
        {running.map((recovery) => (
          <Running key={recovery.id} recovery={recovery} path={here} editor={isEditor(visit)} />
        ))}
        {data.length === 0 ? (
          <Empty title="No recoveries yet">
            <p>
              A recovery sends again what failed, was cancelled or is missing.{' '}
              <a href={`${path}/statement`}>Count what this endpoint missed</a>
            </p>
          </Empty>
        ) : (
          <Table<Recovery>
            rows={data}
            row={({ id, status }) => ({ id: `recovery-${id}`, 'data-announce': `Recovery ${status}` })}
            classes={{ Queued: 'right' }}
            columns={{
              Started: ({ created_at }) => <Time at={created_at} />,
              Status: ({ status }) => <span class={`badge ${TONES[status]}`}>{status}</span>,
              Queued: (recovery) => progressText(recovery),
              'Events from': ({ since }) => <Time at={since} />,
              'Events until': ({ until }) => <Time at={until} />,
              Ended: ({ finished_at }) => (finished_at ? <Time at={finished_at} /> : '–'),
            }}
          />
        )}
        <Pager path={here} query={query} nextCursor={next_cursor} />
      </Live>
    );
  },
});

const TONES = { running: 'warn', completed: 'good', cancelled: 'muted' } as const;

const totalOf = ({ count, missing }: Recovery) => count + missing;
const progressText = (recovery: Recovery) => `${countText(recovery.started)} of ${countText(totalOf(recovery))}`;

function Running({ recovery, path, editor }: { recovery: Recovery; path: string; editor: boolean }) {
  const { id, started } = recovery;
  const total = totalOf(recovery);
  return (
    <section class="card stack" aria-labelledby="running">
      <h2 id="running">Recovery in progress</h2>
      <progress class="progress" aria-labelledby="running" max={total} value={Math.min(started, total)}>
        {progressText(recovery)}
      </progress>
      <p>
        <strong>{progressText(recovery)} deliveries are queued.</strong>{' '}
        <span class="muted">
          At most 20 a second start, behind new events, and only as fast as your receiver responds.
        </span>
      </p>
      {editor && (
        <PostButton
          action={`${path}/${id}/cancel`}
          class="danger"
          note={<span class="hint">What is queued continues; the rest can be recovered later.</span>}
        >
          Cancel the recovery
        </PostButton>
      )}
    </section>
  );
}

const cancel = form({
  path: '/console/endpoints/{webhookId}/recoveries/{id}/cancel',
  scope: 'webhooks:write',
  async submit({ operations, params }) {
    const { started } = await operations.change<Recovery>('cancelRecovery', { params });
    const queued = countOf(started, 'delivery', 'deliveries');
    return seeOther(
      `${endpointPath(params.webhookId)}/recoveries`,
      `The recovery is cancelled. It had queued ${queued}.`,
    );
  },
});

export const recoveryPages = [recoveriesPage, cancel];
