import { RetryPacer } from '../../src/express-lane/retry-pacer.js';

const turns = (pace: RetryPacer, clientId: string, count: number, now: number) =>
  Array.from({ length: count }, () => pace.next(clientId, now));

describe('Pace', () => {
  it('gives a crowd its turns one after the other, and lets who comes alone come at once', () => {
    const pace = new RetryPacer(50);
    expect(turns(pace, 'a', 4, 1_000)).toEqual([0, 20, 40, 60]);
    expect(turns(pace, 'a', 1, 1_050)).toEqual([30]);
    expect(turns(pace, 'a', 1, 9_000)).toEqual([0]);
  });

  it("does not let one client's crowd delay another's, and keeps the rate of all of them", () => {
    const pace = new RetryPacer(100);
    turns(pace, 'loud', 10_000, 0);
    expect(pace.next('quiet', 0)).toBe(0);
    expect(turns(pace, 'quiet', 2, 0)).toEqual([20, 40]);
    expect(pace.next('loud', 0)).toBe(100_000);
    expect(pace.next('loud', 0)).toBe(100_020);
  });
});
