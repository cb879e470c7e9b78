// The script of the console. Every page works without it.

// A sign-in link has its code in the fragment of the address: the code moves into the form and leaves the history.
// The form is sent only by its button, so that a preview of the link does not use it up.
if (location.hash.length > 1 && location.pathname.includes('/console/sign-in/')) {
  const code = document.querySelector('[data-code]');
  if (code) {
    code.value = location.hash.slice(1);
    document.querySelector('[data-code-field]').hidden = true;
  }
  history.replaceState(null, '', location.pathname + location.search);
}
