interface Props {
  path: string;
  /** The query of this page, with its filters. */
  query: URLSearchParams;
  nextCursor: string | null;
}

/** The way to the next page of a list, and back to its start. A keyset cursor knows no page number. */
export function Pager({ path, query, nextCursor }: Props) {
  if (nextCursor === null && !query.has('cursor')) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {query.has('cursor') && <a href={address(path, query, null)}>Newest</a>}
      {nextCursor !== null && (
        <a href={address(path, query, nextCursor)} rel="next">
          Older
        </a>
      )}
    </nav>
  );
}

function address(path: string, query: URLSearchParams, cursor: string | null): string {
  const next = new URLSearchParams([...query].filter(([name, value]) => name !== 'cursor' && value !== ''));
  if (cursor !== null) next.set('cursor', cursor);
  return next.size > 0 ? `${path}?${next}` : path;
}
