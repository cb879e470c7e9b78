/**
 * A button that copies a text as it is, also where the page shows its unseen characters as pictures. The script shows
 * the button, because it needs the script.
 */
export function CopyButton({ copies, label }: { copies: string; label: string }) {
  return (
    <button type="button" class="quiet" data-copy={copies} hidden>
      {label}
    </button>
  );
}
