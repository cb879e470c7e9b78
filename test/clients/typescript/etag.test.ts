import { expect, test } from '@jest/globals';
import { etagOf } from '../../../clients/typescript/src/etag.js';
import { openStubService, problem } from '../../support/stub-service.js';

const stub = await openStubService();

test('a change sends the ETag of what was read, and rejects if that was changed meanwhile', async () => {
  const { webhookEndpoints, transfers } = stub.client();
  stub.answers = [{ status: 200, json: { id: 'e' }, headers: { ETag: '"one"' } }];
  const ifMatch = etagOf(await webhookEndpoints.get('e'));
  await webhookEndpoints.patch('e', {}, { ifMatch });
  await transfers.cancel('t', { ifMatch: '*', idempotencyKey: 'k' });
  expect(stub.requests.map(({ headers }) => headers['if-match'])).toEqual([undefined, '"one"', '*']);
  stub.answers = [problem(412, 'changed_meanwhile')];
  await expect(webhookEndpoints.delete('e', { ifMatch })).rejects.toMatchObject({ code: 'changed_meanwhile' });
});

test('an update with ifMatch is not repeated after a broken connection, which would reject its own change', async () => {
  const { webhookEndpoints } = stub.client();
  stub.answers = ['broken', 'broken'];
  await expect(webhookEndpoints.patch('e', {}, { ifMatch: '"a"' })).rejects.toMatchObject({
    code: 'connection_failed',
  });
  expect(stub.requests).toHaveLength(1);
  stub.answers = [];
});
