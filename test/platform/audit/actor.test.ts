import { hostname, userInfo } from 'node:os';
import { personHere } from '../../../src/platform/audit.js';

it('is the user who ran sudo, or else the user of the process', () => {
  expect(personHere({ SUDO_USER: 'ada' })).toBe(`cli:ada@${hostname()}`);
  for (const env of [{}, { SUDO_USER: '' }]) expect(personHere(env)).toBe(`cli:${userInfo().username}@${hostname()}`);
});
