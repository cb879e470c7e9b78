import { amountText } from '../../transfers/currencies.js';
import { readTransferSummaries, type TransferSummary } from '../../transfers/read-transfers.js';
import { Id, Untrusted } from '../components/values.js';
import type { Visit } from '../page.js';
import { transferHref } from './paths.js';

export type TransferSummaries = ReadonlyMap<string, TransferSummary>;

/** Reads what rows say of their transfers; empty where the session may not read transfers. */
export async function transfersOf({ read, session }: Visit, ids: readonly string[]): Promise<TransferSummaries> {
  if (ids.length === 0 || !session.scopes.has('transfers:read')) return new Map();
  return read((db) => readTransferSummaries(db, session.clientId, ids));
}

/** The amount and the reference of a transfer in a row, or the end of its id where these are not known. */
export function TransferLabel({ visit, id, of }: { visit: Visit; id: string; of: TransferSummaries }) {
  const known = of.get(id);
  const href = transferHref(visit, id);
  if (!known || href === undefined) return <Id id={id} href={href} />;
  const { amountValue, amountCurrency, reference } = known;
  return (
    <span class="transfer-label">
      <a href={href} title={id}>
        {amountText({ value: Number(amountValue), currency: amountCurrency })}
      </a>
      {reference !== null && (
        <span class="muted">
          <Untrusted text={reference} />
        </span>
      )}
    </span>
  );
}
