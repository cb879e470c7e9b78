import { Limiter, retryAfterOf } from '../src/limiter.js';

describe('Limiter', () => {
  const refusal = (retryAfter: number) => new Error(`next try in ${retryAfter} s`);

  test('refuses a point above the limit with the seconds until the next try', async () => {
    const limiter = new Limiter({ points: 2, duration: 60 });
    await limiter.consume('a', refusal);
    await limiter.consume('a', refusal);
    await expect(limiter.consume('a', refusal)).rejects.toThrow('next try in 60 s');
  });

  test('counts each key for itself', async () => {
    const limiter = new Limiter({ points: 1, duration: 60 });
    await limiter.consume('a', refusal);
    await expect(limiter.consume('b', refusal)).resolves.toBeUndefined();
  });

  test('writes whole seconds, at least one', () => {
    expect([0, 1, 1_000, 1_001].map((msBeforeNext) => retryAfterOf({ msBeforeNext }))).toEqual([1, 1, 1, 2]);
  });
});
