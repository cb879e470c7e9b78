/** Ends the processes of global-setup.js in reverse order. */
export default async function tearDown() {
  for (const part of (globalThis.__stack__ ?? []).reverse()) await part.stop();
}
