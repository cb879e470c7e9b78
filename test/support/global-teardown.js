/** Ends what global-setup.js has started, the last first. */
export default async function tearDown() {
  for (const part of (globalThis.__stack__ ?? []).reverse()) await part.stop();
}
