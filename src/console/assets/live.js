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
  update(region, fresh);
  showCopyButtons(region);
  announceChanges(before, announcements(region));
}

/** @param {Element} region */
function signedOut(region) {
  regions.splice(regions.indexOf(region), 1);
  caution('You are signed out: reload the page to sign in again. What is shown here may have changed.');
}

/** Asks for every region, again and again; never while nobody looks, and less often while the service fails. */
async function poll() {
  if (document.hidden || regions.length === 0) return;
  try {
    for (const region of [...regions]) await refresh(region);
    // What a reader opened while the service could not answer.
    for (const details of document.querySelectorAll('details[open][data-load]')) {
      if (details instanceof HTMLDetailsElement) await load(details);
    }
    interval = INTERVAL;
    if (regions.length > 0) caution('');
  } catch {
    interval = Math.min(interval * 2, LONGEST_INTERVAL);
    if (interval > INTERVAL * 2) caution('The service does not answer: what is shown here may have changed.');
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
cautionBox.className = 'caution';
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

// Only what differs is changed, so that focus, selection, scroll and what a reader opened stay.

/**
 * @param {Node} old
 * @param {Node} fresh of the same kind
 */
function update(old, fresh) {
  if (old instanceof Element && fresh instanceof Element) {
    updateAttributes(old, fresh);
    if (!old.hasAttribute('data-loaded')) updateChildren(old, fresh);
  } else if (old.nodeValue !== fresh.nodeValue) {
    old.nodeValue = fresh.nodeValue;
  }
}

/**
 * Attributes that the page does not know stay: the reader opens a <details>, whose content the script loads, and the
 * script shows a copy button.
 * @param {Element} old
 * @param {Element} fresh
 */
function updateAttributes(old, fresh) {
  /** @param {Attr} attribute */
  const isOwn = ({ name }) =>
    name === 'data-loaded' ||
    name === 'aria-busy' ||
    (name === 'open' && old.localName === 'details') ||
    (name === 'hidden' && old.hasAttribute('data-copy'));
  for (const attribute of [...old.attributes]) {
    if (!isOwn(attribute) && !fresh.hasAttribute(attribute.name)) old.removeAttribute(attribute.name);
  }
  for (const attribute of fresh.attributes) {
    if (isOwn(attribute) || old.getAttribute(attribute.name) === attribute.value) continue;
    old.setAttribute(attribute.name, attribute.value);
  }
}

/**
 * An element with an id is the same as the one with this id; any other node is the same as one of its kind at its place.
 * @param {Element} old
 * @param {Element} fresh
 */
function updateChildren(old, fresh) {
  const wanted = new Set([...fresh.children].map(({ id }) => id));
  for (const child of [...old.children]) if (child.id !== '' && !wanted.has(child.id)) child.remove();
  const byId = new Map([...old.children].map((child) => [child.id, child]));
  let place = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const id = idOf(next);
    const same = id !== '' ? byId.get(id) : place && isAlike(place, next) ? place : undefined;
    if (!same) {
      old.insertBefore(document.importNode(next, true), place);
      continue;
    }
    if (same === place) place = place.nextSibling;
    else old.insertBefore(same, place);
    update(same, next);
  }
  while (place) {
    const following = place.nextSibling;
    place.remove();
    place = following;
  }
}

/** @param {Node} node */
const idOf = (node) => (node instanceof Element ? node.id : '');

/**
 * @param {Node} one
 * @param {Node} other
 */
const isAlike = (one, other) => idOf(one) === '' && one.nodeName === other.nodeName;

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
    details.append(document.importNode(part, true));
    showCopyButtons(details);
  } catch {
    // The link to the page stays, and the next round of the live regions loads again.
  } finally {
    details.removeAttribute('aria-busy');
  }
}

// Copy buttons.

/** @param {ParentNode} within */
function showCopyButtons(within) {
  for (const button of within.querySelectorAll('[data-copy]')) button.removeAttribute('hidden');
}

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  if (!button) return;
  const label = button.textContent;
  const isCopied = await copy(button.getAttribute('data-copy') ?? '');
  announce(isCopied ? 'Copied' : 'Not copied');
  button.textContent = isCopied ? 'Copied' : 'Not copied';
  setTimeout(() => {
    button.textContent = label;
  }, 1_500);
});

/**
 * A page over http on another host than localhost has no clipboard but the old command.
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

showCopyButtons(document);
schedule();
