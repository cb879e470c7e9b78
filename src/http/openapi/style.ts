import { createHash } from 'node:crypto';

/** The style sheet of the plain page; light or dark as in the reader's system settings. */
export const style = `
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent);--soft:color-mix(in srgb,currentColor 6%,transparent)}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem}
h1,h2,h3,h4{line-height:1.2;margin:1.5em 0 .5em}
h2{border-bottom:1px solid var(--line);padding-bottom:.3em}
nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem}
p{margin:.4em 0}
article{padding:.2rem 1rem 1rem;margin:1rem 0;border:1px solid var(--line);border-radius:.5rem}
.call b{display:inline-block;min-width:4.5rem}
code,pre{font:.9em/1.45 ui-monospace,monospace}
pre{background:var(--soft);padding:.8rem;overflow-x:auto;border-radius:.3rem}
table{border-collapse:collapse;width:100%}
td{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;vertical-align:top}
td p,li p{margin:0;display:inline}
i{opacity:.7;font-size:.85em}
@media(max-width:40rem){table,tbody,tr,td{display:block}td{border:0;padding:.1rem 0;overflow-wrap:anywhere}tr{border-top:1px solid var(--line);padding:.4rem 0}}
:target{background:var(--soft)}
`;

/** The source that allows this style sheet in a Content-Security-Policy. */
export const styleHash = `sha256-${createHash('sha256').update(style).digest('base64')}`;
