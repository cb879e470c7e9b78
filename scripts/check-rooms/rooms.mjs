/**
 * The order of the rooms, the highest first: a file imports from its own room and from rooms below it. Each entry is a
 * folder, or a group of files if it has `files`. A folder inside another room precedes that room.
 */
export const ROOMS = [
  { name: 'entry files', files: ['src/main.ts', 'src/api.ts', 'src/worker.ts', 'src/cli.ts'] },
  { name: 'src/cli' },
  { name: 'src/local' },
  { name: 'src/console' },
  { name: 'src/http' },
  { name: 'src/process' },
  { name: 'activities' },
  { name: 'src/transfers' },
  { name: 'src/receiver-checks' },
  { name: 'src/delivery' },
  { name: 'src/webhooks' },
  { name: 'src/webhooks/sender' },
  { name: 'src/temporal' },
  { name: 'workflows' },
  { name: 'src/auth' },
  { name: 'src/audit' },
  { name: 'src/retention' },
  { name: 'src/telemetry' },
  { name: 'src/database' },
  { name: 'configuration', files: ['src/config.ts'] },
  { name: 'src/config' },
  { name: 'src', ownFilesOnly: true },
  { name: 'clients/typescript/src' },
];

/**
 * Folders that are loaded only when they are used, and their importers, which must use `import()`. Production does not
 * load the embedded stack, and `--help` does not load what a command does. A type import loads nothing.
 */
export const LOADED_ON_DEMAND = [
  { room: 'src/local', importers: ['src/main.ts', 'src/cli'] },
  { room: 'src/cli/actions', importers: ['src/cli'] },
];

/** Folders whose files are in the graph. */
export const FOLDERS = ['src', 'activities', 'workflows', 'clients/typescript/src'];

/** Generated code, which is part of its room. */
export const GENERATED = 'src/database/generated';
