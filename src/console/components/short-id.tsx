/**
 * The end of an id, which tells ids of the same time apart; the whole id is its title. @param href the page of the id;
 * undefined: the reader may not see it
 */
export function ShortId({ id, href }: { id: string; href?: string | undefined }) {
  const text = `…${id.slice(-12)}`;
  return href === undefined ? (
    <code title={id}>{text}</code>
  ) : (
    <a class="mono" href={href} title={id}>
      {text}
    </a>
  );
}
