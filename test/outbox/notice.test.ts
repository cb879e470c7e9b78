import { describe, expect, it } from '@jest/globals';
import { ANYTHING, mergeNotices, readNotice, writeNotice } from '../../src/outbox/notice.js';

describe('a notice', () => {
  it.each([
    { attempt: true, start: false, turn: 0 },
    { attempt: false, start: true, turn: 65_535 },
    { attempt: true, start: true, turn: null },
  ])('is read as it was written: %j', (notice) => {
    expect(readNotice(writeNotice(notice))).toEqual(notice);
  });

  it.each(['', undefined, ' ', 'something of a later release', 'attempt start 1234567'])(
    'means that anything may be due where the payload is %j',
    (payload) => expect(readNotice(payload)).toEqual(ANYTHING),
  );

  it("is every worker's turn when it was merged", () => {
    const [one, other] = [
      { attempt: true, start: false, turn: 1 },
      { attempt: false, start: true, turn: 2 },
    ];
    expect(mergeNotices(one, other)).toEqual({ attempt: true, start: true, turn: null });
  });
});
