import { hostname, userInfo } from 'node:os';
import { personHere } from '../../src/audit/actor.js';

it('is who called sudo, else whose process it is', () => {
  expect(personHere({ SUDO_USER: 'ada' })).toBe(`cli:ada@${hostname()}`);
  for (const env of [{}, { SUDO_USER: '' }]) expect(personHere(env)).toBe(`cli:${userInfo().username}@${hostname()}`);
});
