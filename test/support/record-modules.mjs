// Loaded before a program with `node --import`: at its end it writes the URLs of the modules that were loaded, as JSON,
// to the file that LOADED_MODULES names.
import { writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const loaded = new Set();
registerHooks({
  load(url, context, next) {
    loaded.add(url);
    return next(url, context);
  },
});
process.once('exit', () => writeFileSync(process.env.LOADED_MODULES, JSON.stringify([...loaded])));
