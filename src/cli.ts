#!/usr/bin/env -S node --max-semi-space-size=8
import { runCli } from './cli/program.js';

const roles = {
  start: async () => (await import('./main.js')).runService,
  api: async () => (await import('./api.js')).runApi,
  worker: async () => (await import('./worker.js')).runWorker,
};
process.exitCode = await runCli(process.argv.slice(2), roles);
