import { missedSince } from '../../../../src/console/pages/endpoints/statement.js';
import { endpoint, health } from './make.js';

const DAY = 86_400_000;
const now = Date.parse('2026-11-22T06:30:00Z');

describe('the start of the window that an endpoint may have missed', () => {
  it('is its last success', () => {
    expect(missedSince(endpoint(), health(), 90 * DAY, now)).toBe('2026-11-22 06:28:00');
  });

  it('is its registration if nothing has succeeded', () => {
    const none = health({ lastSuccessAt: null });
    expect(missedSince(endpoint(), none, 90 * DAY, now)).toBe('2026-11-20 06:00:00');
    expect(missedSince(endpoint(), undefined, 90 * DAY, now)).toBe('2026-11-20 06:00:00');
  });

  it('is within the longest window and the retention, so the statement is not rejected', () => {
    const old = endpoint({ created_at: '2026-01-01T00:00:00.000Z' });
    expect(missedSince(old, undefined, 90 * DAY, now)).toBe('2026-10-22 06:31:00');
    expect(missedSince(old, undefined, DAY, now)).toBe('2026-11-21 06:31:00');
  });
});
