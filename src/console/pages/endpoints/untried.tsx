import { MOVING_TRANSFER } from '../transfers/path.js';

/** What comes next for an endpoint that nothing was sent to yet. */
export function Untried({ makesTransfers }: { makesTransfers: boolean }) {
  if (!makesTransfers) {
    return <p class="muted">Nothing was sent here yet. The next change of a transfer's status will be.</p>;
  }
  return (
    <p>
      Nothing was sent here yet. Next: <a href={MOVING_TRANSFER}>make a sandbox transfer</a> that moves by itself, and
      see its events arrive.
    </p>
  );
}
