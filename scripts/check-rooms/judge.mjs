import { LOADED_ON_DEMAND, ROOMS } from './rooms.mjs';

/** @typedef {Map<string, { to: string, kind: 'static' | 'dynamic' | 'type' }[]>} Graph */

/** The index in ROOMS of the room of a file: the longest folder that contains it; -1 if there is none. */
function roomOf(file) {
  const fits = ROOMS.map((room, index) => ({ room, index })).filter(({ room: { name, files, ownFilesOnly } }) => {
    if (files) return files.includes(file);
    return file.startsWith(`${name}/`) && (!ownFilesOnly || !file.slice(name.length + 1).includes('/'));
  });
  const best = fits.sort((a, b) => rank(b.room) - rank(a.room))[0];
  return best?.index ?? -1;
}

/** A named file precedes a folder, and a longer folder precedes a shorter one. */
function rank({ files, name }) {
  return files ? Number.POSITIVE_INFINITY : name.length;
}

/** Files in no room, one sentence each. @param {Graph} graph */
export function filesInNoRoom(graph) {
  return [...graph.keys()]
    .filter((file) => roomOf(file) === -1)
    .map((file) => `${file} is in no room; add its folder to scripts/check-rooms/rooms.mjs`);
}

/** Imports from a room of a higher room, one sentence each. @param {Graph} graph */
export function upwardImports(graph) {
  return imports(graph).flatMap(({ from, to }) => {
    const [own, target] = [roomOf(from), roomOf(to)];
    if (own === -1 || target === -1 || target >= own) return [];
    return [`${from} imports ${to}, but ${ROOMS[own]?.name} is below ${ROOMS[target]?.name}`];
  });
}

/** Imports that load a room that production does not need. @param {Graph} graph */
export function needlessLoads(graph) {
  return LOADED_ON_DEMAND.flatMap(({ room, importers }) =>
    imports(graph)
      .filter(({ from, to, kind }) => to.startsWith(`${room}/`) && !from.startsWith(`${room}/`) && kind !== 'type')
      .flatMap(({ from, to, kind }) => {
        if (!importers.some((importer) => from === importer || from.startsWith(`${importer}/`))) {
          return [`${from} imports ${to}, but only ${importers.join(' and ')} may load ${room}`];
        }
        return kind === 'dynamic' ? [] : [`${from} imports ${to} statically; load ${room} with import()`];
      }),
  );
}

/** Import cycles, including type imports, each as the list of its files. @param {Graph} graph */
export function circles(graph) {
  const state = new Map();
  const path = [];
  const found = [];
  const visit = (file) => {
    state.set(file, 'open');
    path.push(file);
    for (const { to } of graph.get(file) ?? []) {
      if (state.get(to) === 'open') found.push([...path.slice(path.indexOf(to)), to].join(' → '));
      else if (!state.has(to)) visit(to);
    }
    path.pop();
    state.set(file, 'done');
  };
  for (const file of graph.keys()) if (!state.has(file)) visit(file);
  return found;
}

function imports(graph) {
  return [...graph].flatMap(([from, targets]) => targets.map(({ to, kind }) => ({ from, to, kind })));
}
