/** What a history has of an endpoint, for the texts that people read. Its URL never enters a history. */
export interface Receiver {
  webhookId: string;
  /** Host and port of the URL. */
  host: string;
  /** The client's description, unless it may hold a URL or a secret (`describedAs`). */
  description: string | null;
}

/** Temporal limits a summary to 400 bytes. */
const LONGEST_HOST = 100;

/** `Orders (hooks.example.com) …044a8345`: two endpoints of one host differ, by the end of the id at least. */
export function receiverName({ webhookId, host, description }: Receiver): string {
  const at = host.length > LONGEST_HOST ? `${host.slice(0, LONGEST_HOST)}…` : host;
  return `${description ? `${description} (${at})` : at} …${webhookId.slice(-8)}`;
}
