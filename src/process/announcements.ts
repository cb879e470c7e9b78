/** Tells a starting script that the process serves. @param url of the API; a worker's health, or null where it has no port */
export type Announce = (url: string | null) => void;

/** `ready <url>`, on standard output (contract, Operator's commands). */
export const announceReady: Announce = (url) => console.log(url === null ? 'ready' : `ready ${url}`);

/** The same for programs (`--json`): one document, `{"ready": "<url>"}`. */
export const announceJson: Announce = (url) => console.log(JSON.stringify({ ready: url }));
