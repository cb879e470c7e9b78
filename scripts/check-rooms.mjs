// Part of `npm run check`: imports go down the list of rooms in check-rooms/rooms.mjs and never up, without a cycle.
// An argument selects another checkout.
import { fileURLToPath } from 'node:url';
import { readGraph } from './check-rooms/graph.mjs';
import { circles, filesInNoRoom, needlessLoads, upwardImports } from './check-rooms/judge.mjs';

const graph = readGraph(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)));
const faults = [
  ...filesInNoRoom(graph),
  ...upwardImports(graph),
  ...needlessLoads(graph),
  ...circles(graph).map((circle) => `a circle of imports: ${circle}`),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`${graph.size} files, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
