import { describe, expect, it } from '@jest/globals';
import { readHistories } from '../support/histories.js';
import { judgePayloads } from '../support/judge-payloads.js';

const histories = readHistories();
const payload = (value: unknown) => ({
  metadata: { encoding: Buffer.from('json/plain').toString('base64') },
  data: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64'),
});
const started = (attributes: object) => ({
  events: [{ eventType: 'x', workflowExecutionStartedEventAttributes: attributes }],
});
const input = (value: unknown) => started({ input: { payloads: [payload(value)] } });

describe('what Temporal stores', () => {
  it.each(histories.map((history) => [history.name, history] as const))(
    'in the history %s: ids, hosts, states, counts and times alone',
    (_name, { json }) => {
      expect(judgePayloads(json)).toEqual([]);
    },
  );

  it('is judged in each of these histories', () => {
    expect(histories.length).toBeGreaterThan(15);
    for (const { json } of histories) expect(JSON.stringify(json)).toContain('"data"');
  });
});

describe('the judge finds', () => {
  it.each<[string, object]>([
    [
      'a name under a new key',
      input({ eventId: '01a1feb3-1e6c-7acb-bc92-6271ec94e3b3', destinationName: 'Ada Lovelace' }),
    ],
    ['a path of a URL beside the host', input({ deliveries: [{ host: 'hooks.example.com/acme?token=1' }] })],
    ['a body of a response', input({ status: 'failed', lastOutcome: 'Dear Ada, we refuse' })],
    ['a name in a summary', { events: [{ userMetadata: { summary: payload('"transfer to Ada Lovelace"') } }] }],
    ['a secret in a memo', started({ memo: { fields: { checkId: payload('"my-own-webhook-secret"') } } })],
    ['a new search attribute', started({ searchAttributes: { indexedFields: { Account: payload('"DE02"') } } })],
    ['a stack trace', { events: [{ a: { lastFailure: { message: 'x', stackTrace: 'at send (https://h/secret)' } } }] }],
    ['a header', started({ header: { fields: { authorization: payload('"Bearer x"') } } })],
  ])('%s', (_what, history) => {
    expect(judgePayloads(history)).not.toEqual([]);
  });
});
