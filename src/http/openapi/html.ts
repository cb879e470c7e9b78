/** HTML that is safe in a page: only the template tag below makes it. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | undefined | readonly Html[];

/** A template whose values are escaped unless they are `Html`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((all, text, i) => all + write(parts[i - 1]) + text));
}

/** Text with `code` between backticks and paragraphs at blank lines, as our descriptions use Markdown. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n\n+/).map((paragraph) => {
    const parts = paragraph
      .split(/`([^`]+)`/)
      .map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
    return html`<p>${parts}</p>`;
  });
  return html`${paragraphs}`;
}

function write(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(({ text }: Html) => text).join('');
  return String(part)
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');
}
