import { expect, test } from '@jest/globals';
import { openStubService } from '../../support/stub-service.js';

const stub = await openStubService();

const page = (ids: string[], next_cursor: string | null) => ({
  status: 200,
  json: { data: ids.map((id) => ({ id })), has_more: next_cursor !== null, next_cursor },
  // A page is followed by its cursor, never by this URL.
  headers: { link: '<http://127.0.0.1:1/elsewhere>; rel="next"' },
});
const urls = () => stub.requests.map(({ url }) => url);

test('iterates over the items of all pages by next_cursor, with the filters on each page', async () => {
  stub.answers = [page(['a', 'b'], 'c&1'), page([], 'c2'), page(['c'], null)];
  const ids: string[] = [];
  const filters = { status: 'SENT', reference: 'Größe & mehr', limit: 2 } as const;
  for await (const { id } of stub.client().transfers.list(filters)) ids.push(id);
  expect(ids).toEqual(['a', 'b', 'c']);
  const query = 'status=SENT&reference=Gr%C3%B6%C3%9Fe+%26+mehr&limit=2';
  expect(urls()).toEqual([`/transfers?${query}`, `/transfers?${query}&cursor=c%261`, `/transfers?${query}&cursor=c2`]);
});

test('requests nothing before it is read, and no page beyond the last one needed', async () => {
  stub.otherwise = () => page(['a', 'b'], 'next');
  const list = stub.client().events.listDeliveries('e-1');
  expect(urls()).toEqual([]);
  for await (const { id } of list) if (id === 'b') break;
  expect(urls()).toEqual(['/events/e-1/deliveries']);
  expect((await list.page()).next_cursor).toBe('next');
});

test('a page that leads to itself is an error, not an endless loop', async () => {
  stub.otherwise = () => page(['a'], 'same');
  const list = stub.client().transfers.list();
  const readAll = async () => {
    for await (const _ of list);
  };
  await expect(readAll()).rejects.toMatchObject({ code: 'invalid_response' });
  expect(urls()).toHaveLength(2);
});

test('the feed ends at its last page, whose cursor leads to later events', async () => {
  const last = page(['b'], 'later');
  stub.answers = [page(['a'], 'c1'), { ...last, json: { ...last.json, has_more: false } }];
  const cursors = [];
  for await (const { next_cursor } of stub.client().events.list({ order: 'oldest' }).pages()) cursors.push(next_cursor);
  expect(cursors).toEqual(['c1', 'later']);
});
