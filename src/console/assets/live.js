// The script of the console. Every page works without it. `npm run check` checks its types (tsconfig.json beside it).

// A sign-in link has its code in the fragment of the address: the code moves into the form and leaves the history.
// The form is sent only by its button, so that a preview of the link does not use it up.
function takeCode() {
  if (location.hash.length <= 1 || !location.pathname.includes('/console/sign-in/')) return;
  const code = document.querySelector('#field-code');
  if (code instanceof HTMLInputElement) {
    code.value = location.hash.slice(1);
    const field = code.closest('.field');
    if (field instanceof HTMLElement) field.hidden = true;
  }
  history.replaceState(null, '', location.pathname + location.search);
}

takeCode();
// The same link, opened again in this tab, changes only the fragment and loads no page.
addEventListener('hashchange', takeCode);

const INTERVAL = 2_000;
const LONGEST_INTERVAL = 30_000;
/** A request of the script does not extend the session. */
const LIVE = { headers: { 'X-Live': '1' } };

/** Read aloud when it changes; it must exist before its first text. */
const announcer = document.createElement('p');
announcer.className = 'visually-hidden';
announcer.setAttribute('role', 'status');
document.body.append(announcer);

/** @param {string} text */
function announce(text) {
  announcer.textContent = text;
}

// Live regions: an element with `data-live` names the page to ask again, and is found there by its id.

const regions = [...document.querySelectorAll('[data-live]')];
let interval = INTERVAL;

/** @param {Element} region */
async function refresh(region) {
  const response = await fetch(region.getAttribute('data-live') || location.href, LIVE);
  if (response.status === 401) return signedOut(region);
  if (!response.ok) throw new Error(`the console responded with ${response.status}`);
  const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').getElementById(region.id);
  if (!fresh) return;
  const before = announcements(region);
  enhance(fresh);
  morph(region, fresh, { callbacks });
  announceChanges(before, announcements(region));
}

/** @param {Element} region */
function signedOut(region) {
  regions.splice(regions.indexOf(region), 1);
  caution('You are signed out. Reload the page to sign in again; this page may be out of date.');
}

/** Refreshes every region repeatedly: not while the page is hidden, and less often while the service fails. */
async function poll() {
  if (document.hidden || regions.length === 0) return;
  try {
    for (const region of [...regions]) await refresh(region);
    // Loads what a reader opened while the service did not respond.
    for (const details of document.querySelectorAll('details[open][data-load]')) {
      if (details instanceof HTMLDetailsElement) await load(details);
    }
    interval = INTERVAL;
    if (regions.length > 0) caution('');
  } catch {
    interval = Math.min(interval * 2, LONGEST_INTERVAL);
    if (interval > INTERVAL * 2) caution('The service does not respond. This page may be out of date.');
  }
  schedule();
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function schedule(delay = interval) {
  clearTimeout(timer);
  timer = setTimeout(poll, delay);
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else schedule(0);
});

const cautionBox = document.createElement('p');
cautionBox.className = 'banner warn';
cautionBox.setAttribute('role', 'status');

/** @param {string} text empty: all is well */
function caution(text) {
  if (cautionBox.textContent === text) return;
  cautionBox.textContent = text;
  if (text === '') cautionBox.remove();
  else document.querySelector('main')?.prepend(cautionBox);
}

/**
 * The texts to announce, by the id of their element or of the one around it.
 * @param {Element} region
 */
function announcements(region) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  for (const element of region.querySelectorAll('[data-announce]')) {
    texts.set(element.closest('[id]')?.id ?? '', element.getAttribute('data-announce') ?? '');
  }
  return texts;
}

/**
 * @param {Map<string, string>} before
 * @param {Map<string, string>} after
 */
function announceChanges(before, after) {
  const changed = [...after].filter(([id, text]) => before.get(id) !== text).map(([, text]) => text);
  if (changed.length > 3) announce(`${changed.length} changes on this page`);
  else if (changed.length > 0) announce(changed.join(' '));
}

// Only differences are changed (Idiomorph, the script before this one), so that focus, selection and scroll position stay.

/** @type {typeof import('idiomorph').Idiomorph} */
const { morph } = Reflect.get(globalThis, 'Idiomorph');
/** What the reader and this script set: a <details> is opened and its content loaded, and a text was copied. */
const KEPT = ['aria-busy', 'checked', 'data-copied', 'open', 'selected'];
const callbacks = {
  /** @param {Node} node */
  beforeNodeMorphed: (node) => !(node instanceof Element && node.hasAttribute('data-loaded')),
  /**
   * @param {string} name
   * @param {Element} element
   */
  beforeAttributeUpdated: (name, element) =>
    !KEPT.includes(name) && (name !== 'value' || element.getAttribute('type') === 'hidden'),
};

// A <details> with `data-load` contains a link to its content, which comes when a reader opens it.

document.addEventListener(
  'toggle',
  ({ target }) => {
    if (target instanceof HTMLDetailsElement && target.open && target.hasAttribute('data-load')) void load(target);
  },
  true,
);

/** @param {HTMLDetailsElement} details */
async function load(details) {
  const link = details.querySelector('a');
  if (!link || details.hasAttribute('data-loaded') || details.hasAttribute('aria-busy')) return;
  details.setAttribute('aria-busy', 'true');
  try {
    const response = await fetch(link.href, LIVE);
    const part = new DOMParser().parseFromString(await response.text(), 'text/html').querySelector('[data-part]');
    if (!response.ok || !part) return;
    details.setAttribute('data-loaded', '');
    enhance(part);
    details.append(document.importNode(part, true));
  } catch {
    // The link to the page stays, and the next refresh loads the content again.
  } finally {
    details.removeAttribute('aria-busy');
  }
}

// What only works with script: times in the reader's zone, and hidden controls.

const LOCAL = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
const ZONE = new Intl.DateTimeFormat('en', { timeZoneName: 'short' });
const CONTROLS = '[data-copy], [data-secret], [data-select-all]';

/** @param {ParentNode} within may belong to a document that is not shown yet */
function enhance(within) {
  for (const control of within.querySelectorAll(CONTROLS)) control.removeAttribute('hidden');
  for (const time of within.querySelectorAll('time:not([data-utc])')) {
    const at = new Date(time.getAttribute('datetime') ?? '');
    const utc = `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
    time.setAttribute('data-utc', utc);
    time.removeAttribute('title');
    // In a row or a summary, the focus of its link shows UTC.
    const focusable = time.closest('summary') ?? time.closest('tr, .rung')?.querySelector('.row-link, summary');
    if (!focusable) time.setAttribute('tabindex', '0');
    if (time.classList.contains('relative')) continue;
    const zone = ZONE.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value;
    time.textContent = `${LOCAL.format(at)} ${zone}`;
  }
}

document.addEventListener('click', ({ target }) => {
  if (!(target instanceof Element)) return;
  const copying = target.closest('[data-copy]');
  if (copying) void copyFor(copying, copying.getAttribute('data-copy') ?? '');
  const secret = target.closest('[data-secret]');
  if (secret) useSecret(secret);
  const all = target.closest('[data-select-all]');
  if (all instanceof HTMLButtonElement) {
    for (const box of all.form?.elements ?? []) if (box instanceof HTMLInputElement) box.checked = true;
  }
  // The time of a row is above its link.
  const row = target.closest('time')?.closest('tr');
  const link = row?.querySelector('.row-link');
  if (link instanceof HTMLElement) link.click();
});

// Escape hides the UTC of a time until another one is looked at (WCAG 1.4.13).
document.addEventListener('keydown', (event) => {
  const { key } = event;
  if (key === 'Escape') document.body.classList.add('no-tips');
  // `/` leads to the search, unless a person types.
  const search = document.getElementById('search');
  if (key !== '/' || !search || isTyping(event)) return;
  event.preventDefault();
  search.focus();
});

/** @param {KeyboardEvent} event */
const isTyping = ({ target, ctrlKey, metaKey, altKey }) =>
  ctrlKey ||
  metaKey ||
  altKey ||
  target instanceof HTMLInputElement ||
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement;

for (const type of ['pointerover', 'focusin']) {
  document.addEventListener(type, () => document.body.classList.remove('no-tips'));
}

/**
 * Generates, reveals or copies the secret in the field beside the button.
 * @param {Element} button
 */
function useSecret(button) {
  const field = button.parentElement?.querySelector('input');
  const show = button.parentElement?.querySelector('[data-secret="show"]');
  if (!field || !show) return;
  const action = button.getAttribute('data-secret');
  if (action === 'copy') return void copyFor(button, field.value);
  if (action === 'generate') {
    const bytes = crypto.getRandomValues(new Uint8Array(32));
    field.value = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }
  const isShown = action === 'generate' || field.type === 'password';
  field.type = isShown ? 'text' : 'password';
  show.setAttribute('aria-pressed', String(isShown));
  announce(action === 'generate' ? 'A secret was generated' : isShown ? 'The secret is shown' : 'The secret is hidden');
}

/**
 * @param {Element} button
 * @param {string} text
 */
async function copyFor(button, text) {
  const isCopied = await copy(text);
  announce(isCopied ? 'Copied' : 'Not copied');
  button.toggleAttribute('data-copied', isCopied);
  setTimeout(() => button.removeAttribute('data-copied'), 1_500);
}

/**
 * A page over http on a host other than localhost can only use the old command.
 * @param {string} text
 */
async function copy(text) {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    return isCopied;
  } catch {
    return false;
  }
}

enhance(document);
for (const tab of document.querySelectorAll('.tabs [aria-current]'))
  tab.scrollIntoView({ block: 'nearest', inline: 'center' });
const linked = document.getElementById(location.hash.slice(1));
if (linked instanceof HTMLDetailsElement) linked.open = true;
schedule();
