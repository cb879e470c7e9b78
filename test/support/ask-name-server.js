// Loaded by `--import` into a process under test: the process then resolves names at the server in NAME_SERVER.
import { promises } from 'node:dns';

const { prototype } = promises.Resolver;
const configured = new WeakSet();
for (const method of ['resolve4', 'resolve6']) {
  const original = prototype[method];
  prototype[method] = function (...args) {
    // Set once: Node refuses to change the servers while a query is in progress.
    if (!configured.has(this)) this.setServers([process.env.NAME_SERVER]);
    configured.add(this);
    return original.apply(this, args);
  };
}
