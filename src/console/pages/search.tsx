import { type Hit, MOST_HITS, searchIds } from '../../reports/search.js';
import { listTransfers } from '../../transfers/read-transfers.js';
import { Empty, Table } from '../components/lists.js';
import { page, seeOther } from '../page.js';
import { endpointPath, eventPath } from './paths.js';

/** `/console/search?q=…`: a single hit opens at once. */
export const searchPage = page({
  path: '/console/search',
  scope: null,
  points: 10,
  title: 'Search',
  async view(visit) {
    const text = visit.query.get('q') ?? '';
    const { scopes, clientId } = visit.session;
    const may = { transfers: scopes.has('transfers:read'), webhooks: scopes.has('webhooks:read') };
    const hits = await visit.read(async (db) => {
      const byId = await searchIds(db, clientId, text, may);
      const reference = text.trim();
      if (!may.transfers || reference === '') return byId;
      const filters = { clientId, reference, order: 'newest', take: MOST_HITS } as const;
      const byReference = await listTransfers(db, filters);
      return [...byId, ...byReference.map(({ id }): Hit => ({ kind: 'transfer', id }))];
    });
    const [first] = hits;
    if (first && hits.length === 1) return seeOther(pathOf(first));
    return (
      <>
        <h1>Search</h1>
        {hits.length === 0 ? (
          <Empty title="Nothing found">
            <p>
              Search for the id of an event, a delivery, a transfer or an endpoint, for the end of an id as lists show
              it, or for the exact reference of a transfer. Ends are compared with the newest 10,000 ids.
            </p>
          </Empty>
        ) : (
          <Table<Hit>
            rows={hits}
            href={pathOf}
            columns={{ Found: ({ kind }) => kind, Id: ({ id }) => <code>{id}</code> }}
          />
        )}
      </>
    );
  },
});

function pathOf(hit: Hit): `/console${string}` {
  if (hit.kind === 'endpoint') return endpointPath(hit.id);
  if (hit.kind === 'transfer') return `/console/transfers/${hit.id}`;
  return hit.kind === 'delivery' ? eventPath(hit.eventId, hit.id) : eventPath(hit.id);
}
