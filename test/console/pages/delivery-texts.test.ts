import {
  isRejection,
  receiverSentence,
  retryEffect,
  whatHappensNext,
} from '../../../src/console/pages/delivery-texts.js';

const now = new Date('2026-11-22T06:30:10Z');
const endpoint = {
  id: 'e',
  url: 'https://hooks.example.com/in',
  description: null,
  enabled: true,
  disabledReason: null,
  deletedAt: null,
};
const answered = (status: number) => ({
  number: 1,
  trigger: 'schedule' as const,
  startedAt: now,
  durationMs: 12,
  responseStatus: status,
  error: status < 300 ? null : ('status' as const),
});
const refused = { ...answered(0), responseStatus: null, error: 'refused' as const };
const delivery = {
  status: 'pending' as const,
  reason: null,
  attemptCount: 2,
  nextAttemptAt: new Date('2026-11-22T06:34:10Z'),
  finishedAt: null,
  attempts: [answered(503), answered(503)],
  endpoint,
};

it('says when the next attempt is made, and what the receiver did', () => {
  expect(whatHappensNext(delivery, now)).toEqual({
    next: 'Waiting: attempt 3 at 2026-11-22 06:34:10 UTC, in 4 min.',
    until: 'The receiver responded with 503 twice.',
    announcement: 'Waiting: attempt 3 at 2026-11-22 06:34:10 UTC The receiver responded with 503 twice.',
  });
});

it('says that an attempt is in progress, and since when it is late', () => {
  const first = { ...delivery, attemptCount: 0, attempts: [], nextAttemptAt: now };
  expect(whatHappensNext(first, now)).toMatchObject({
    next: expect.stringMatching(/^Attempt 1 is in progress/),
    until: '',
  });
  const late = { ...first, nextAttemptAt: new Date('2026-11-22T06:20:10Z') };
  expect(whatHappensNext(late, now).next).toMatch(/It was due 10 min ago\.$/);
});

it.each([
  ['succeeded', null, {}, /^Delivered by attempt 2 at 2026-11-22 06:30:10 UTC\.$/],
  ['failed', 'exhausted', {}, /^Failed: every planned attempt failed at .* send it again here\.$/],
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
  const attempts = status === 'succeeded' ? [answered(503), { ...answered(204), number: 2 }] : delivery.attempts;
  const ended = { ...delivery, status, reason, attempts, nextAttemptAt: null, finishedAt: now };
  expect(whatHappensNext({ ...ended, endpoint: { ...endpoint, ...change } }, now).next).toMatch(text);
});

it('says what a failed manual retry left unchanged', () => {
  const manual = { ...answered(503), number: 3, trigger: 'manual' as const };
  const asleep = { ...delivery, attemptCount: 3, attempts: [...delivery.attempts, manual] };
  expect(whatHappensNext(asleep, now)).toMatchObject({
    next: 'Waiting: attempt 4 at 2026-11-22 06:34:10 UTC, in 4 min.',
    until: 'The receiver responded with 503 three times. The manual retry did not change the planned attempts.',
  });
  const attempts = [answered(503), { ...answered(204), number: 2 }, manual];
  const delivered = { ...asleep, status: 'succeeded' as const, nextAttemptAt: null, finishedAt: now, attempts };
  expect(whatHappensNext(delivered, now)).toMatchObject({
    next: 'Delivered by attempt 2 at 2026-11-22 06:30:10 UTC.',
    until: 'The receiver responded with 503. The manual retry did not change the status.',
  });
});

it.each([
  [[], ''],
  [[answered(503)], 'The receiver responded with 503.'],
  [[answered(503), answered(503), answered(503)], 'The receiver responded with 503 three times.'],
  [[answered(500), answered(503), answered(503)], 'The receiver responded with 503 twice in a row.'],
  [[answered(503), refused], 'The connection was refused.'],
  [[refused, refused], 'The connection was refused twice.'],
])('says what the receiver did lately', (attempts, text) => {
  expect(receiverSentence(attempts)).toBe(text);
});

it.each([
  [
    'pending',
    new Date(Date.now() + 60_000),
    /extra attempt\. If that fails, the next planned attempt at .* UTC and those after/,
  ],
  ['failed', null, /^Sends it once\. If that fails, the status stays failed\.$/],
  ['succeeded', null, /the same id\. The status stays succeeded/],
] as const)('says what a manual retry changes: %s', (status, nextAttemptAt, text) => {
  expect(retryEffect({ ...delivery, status, nextAttemptAt })).toMatch(text);
});

it.each([
  [401, true],
  [400, true],
  [404, false],
  [410, false],
  [503, false],
  [204, false],
  [null, false],
])('takes a response of %s for a rejection: %s', (responseStatus, rejected) => {
  expect(isRejection({ responseStatus })).toBe(rejected);
});
