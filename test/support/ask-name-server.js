// Loaded by `--import` into a process under test: its look-ups ask the name server that NAME_SERVER names.
import { promises } from 'node:dns';

const { prototype } = promises.Resolver;
const told = new WeakSet();
for (const method of ['resolve4', 'resolve6']) {
  const original = prototype[method];
  prototype[method] = function (...args) {
    // Once: Node refuses it while a query is under way.
    if (!told.has(this)) this.setServers([process.env.NAME_SERVER]);
    told.add(this);
    return original.apply(this, args);
  };
}
