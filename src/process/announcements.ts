/**
 * Reports to a starting script that the process serves.
 * @param url of the API, or of a worker's health; null: no port
 */
export type Announce = (url: string | null) => void;

/** `ready <url>`, on standard output (contract, Operator's commands). */
export const announceReady: Announce = (url) => console.log(url === null ? 'ready' : `ready ${url}`);

/** `ready` for programs (`--json`): one JSON document, `{"ready": "<url>"}`. */
export const announceJson: Announce = (url) => console.log(JSON.stringify({ ready: url }));
