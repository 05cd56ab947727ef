/** The only script of the pages: runs WebAuthn and submits the passkey forms. Everything else works without JavaScript. */

/** Plain JavaScript as browsers get it: no library, no other origin, no user-visible text. */
export const SCRIPT: string = `'use strict';
(() => {
  const api = window.PublicKeyCredential;
  if (!api || !api.parseRequestOptionsFromJSON || !api.parseCreationOptionsFromJSON) return;
  const KNOWN = 'portcullis-passkey';

  const prepare = (form) => {
    const isNew = form.dataset.passkey === 'create';
    const options = JSON.parse(form.dataset.options);
    const trouble = form.querySelector('[data-trouble]');
    const waiting = new AbortController();

    const ask = (more) => isNew
      ? navigator.credentials.create({ publicKey: api.parseCreationOptionsFromJSON(options) })
      : navigator.credentials.get({ publicKey: api.parseRequestOptionsFromJSON(options), ...more });

    const answer = (credential) => {
      form.elements.credential.value = JSON.stringify(credential);
      try { localStorage.setItem(KNOWN, 'yes'); } catch {}
      form.submit();
    };

    form.addEventListener('submit', async (event) => {
      event.preventDefault();
      waiting.abort();
      trouble.hidden = true;
      try { answer(await ask({})); } catch { trouble.hidden = false; }
    });

    form.hidden = false;
    if (isNew) return;
    // After the first use of a passkey in this browser, it is offered first.
    let known = null;
    try { known = localStorage.getItem(KNOWN); } catch {}
    if (known) {
      form.parentNode.prepend(form);
      form.querySelector('.button').classList.add('main');
      for (const button of form.parentNode.querySelectorAll('form:not([data-passkey]) .main')) button.classList.remove('main');
    }
    if (!api.isConditionalMediationAvailable || !document.querySelector('[autocomplete~=webauthn]')) return;
    api.isConditionalMediationAvailable()
      .then((can) => can && ask({ mediation: 'conditional', signal: waiting.signal }))
      .then((credential) => credential && answer(credential))
      .catch(() => {});
  };

  for (const form of document.querySelectorAll('form[data-passkey]')) prepare(form);
  for (const excuse of document.querySelectorAll('[data-without-passkeys]')) excuse.hidden = true;
})();
`;
