import { inTurn } from '../../bench/in-turn.js';

describe('variants in turn', () => {
  it('run beside each other in each round, and every second round in reverse', async () => {
    const order: string[] = [];
    const variant = (name: string) => async () => {
      order.push(name);
      return `${name}${order.length}`;
    };
    const rounds: number[] = [];
    const found = await inTurn(3, (round) => rounds.push(round), { a: variant('a'), b: variant('b'), c: variant('c') });
    expect(order.join('')).toBe('abccbaabc');
    expect(rounds).toEqual([1, 2, 3]);
    expect(found).toEqual({ a: ['a1', 'a6', 'a7'], b: ['b2', 'b5', 'b8'], c: ['c3', 'c4', 'c9'] });
  });

  it('stop at the first fault', async () => {
    const ran: string[] = [];
    const variants = {
      a: async () => {
        throw new Error('no stack');
      },
      b: async () => ran.push('b'),
    };
    await expect(inTurn(2, () => undefined, variants)).rejects.toThrow('no stack');
    expect(ran).toEqual([]);
  });
});
