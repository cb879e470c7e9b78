import { outcomeText, whatHappensNext } from '../../../src/console/pages/delivery-texts.js';

const now = new Date('2026-11-22T06:30:10Z');
const endpoint = {
  id: 'e',
  url: 'https://hooks.example.com/in',
  description: null,
  enabled: true,
  disabledReason: null,
  deletedAt: null,
};
const delivery = {
  status: 'pending' as const,
  reason: null,
  attemptCount: 2,
  nextAttemptAt: new Date('2026-11-22T06:34:10Z'),
  finishedAt: null,
  endpoint,
};

it('says that an attempt is planned', () => {
  expect(whatHappensNext(delivery, now)).toBe('Waiting: attempt 3 is planned.');
});

it('says that an attempt is in progress', () => {
  const first = { ...delivery, attemptCount: 0, nextAttemptAt: now };
  expect(whatHappensNext(first, now)).toMatch(/^Attempt 1 is in progress/);
});

it.each([
  ['succeeded', null, {}, /^Delivered\.$/],
  ['failed', 'exhausted', {}, /^Failed: every planned attempt failed\. .* send it again here\.$/],
  ['failed', 'endpoint_gone', { enabled: false }, /^Failed: the receiver responded with 410.*enable the endpoint/],
  ['cancelled', 'endpoint_disabled', { enabled: false }, /^Cancelled: the endpoint was disabled.*recover everything/],
  ['cancelled', 'endpoint_disabled', {}, /^Cancelled: the endpoint was disabled.*send it again here\.$/],
  [
    'cancelled',
    'endpoint_deleted',
    { deletedAt: now },
    /^Cancelled: the endpoint was deleted.*cannot be sent again\.$/,
  ],
] as const)('says how a delivery ended: %s, %s', (status, reason, change, text) => {
  const ended = { ...delivery, status, reason, nextAttemptAt: null, finishedAt: now };
  expect(whatHappensNext({ ...ended, endpoint: { ...endpoint, ...change } }, now)).toMatch(text);
});

it.each([
  ['status', 503, 'The receiver responded with 503'],
  [null, 204, 'The receiver responded with 204'],
  ['redirect', 302, 'The receiver responded with a redirect, which is not followed'],
  ['refused', null, 'The connection was refused'],
] as const)('says what came of an attempt: %s, %s', (error, responseStatus, text) => {
  expect(outcomeText({ error, responseStatus })).toBe(text);
});
