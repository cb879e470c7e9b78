import { RetryPacer } from '../../activities/deliver.js';

const turns = (pacer: RetryPacer, clientId: string, count: number, now: number) =>
  Array.from({ length: count }, () => pacer.next(clientId, now));

describe('RetryPacer', () => {
  it("spaces a client's turns evenly, and gives a lone activity its turn at once", () => {
    const pacer = new RetryPacer(50);
    expect(turns(pacer, 'a', 4, 1_000)).toEqual([0, 20, 40, 60]);
    expect(turns(pacer, 'a', 1, 1_050)).toEqual([30]);
    expect(turns(pacer, 'a', 1, 9_000)).toEqual([0]);
  });

  it("does not let one client's turns delay another client's, and keeps the rate over all clients", () => {
    const pacer = new RetryPacer(100);
    turns(pacer, 'loud', 10_000, 0);
    expect(pacer.next('quiet', 0)).toBe(0);
    expect(turns(pacer, 'quiet', 2, 0)).toEqual([20, 40]);
    expect(pacer.next('loud', 0)).toBe(100_000);
    expect(pacer.next('loud', 0)).toBe(100_020);
  });
});
