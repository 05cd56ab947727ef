/**
 * The only script of the pages: runs WebAuthn and submits the passkey forms, shows passwords, shows times in the reader's time
 * zone, and loads a page again that waits for a change. Everything else works without JavaScript.
 */

/** Plain JavaScript as browsers get it: no library, no other origin, no user-visible text. */
export const SCRIPT: string = `'use strict';
(() => {
  const page = document.documentElement.lang;
  const reader = navigator.language;
  // A browser may report a language that is no valid tag.
  let locale = page;
  try { if (new Intl.Locale(reader).language === page) locale = reader; } catch {}
  for (const time of document.querySelectorAll('time[data-time]')) {
    const styles = { dateStyle: 'long', timeStyle: time.dataset.time };
    const date = new Date(time.dateTime);
    const parts = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts(date);
    const zone = parts.find(({ type }) => type === 'timeZoneName').value;
    time.textContent = new Intl.DateTimeFormat(locale, styles).format(date) + ' ' + zone;
  }

  for (const label of document.querySelectorAll('[data-reveal]')) {
    const box = label.querySelector('input');
    const form = box.form;
    const fields = [...form.querySelectorAll('[type=password]')];
    const show = () => { for (const field of fields) field.type = box.checked ? 'text' : 'password'; };
    box.addEventListener('change', show);
    // A password manager looks for password fields when the form is submitted.
    form.addEventListener('submit', () => { box.checked = false; show(); });
    label.hidden = false;
  }

  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) break;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = button.dataset.copied;
    });
    button.hidden = false;
  }

  const watched = document.querySelector('[data-watch]');
  if (watched) {
    const look = async () => {
      try {
        const response = document.hidden ? null : await fetch(location.href);
        // An approval that has ended is 404. Other errors pass, and would replace what the user typed.
        const page = response && (response.ok || response.status === 404) ? await response.text() : '';
        const found = new DOMParser().parseFromString(page, 'text/html').querySelector('[data-watch]');
        if (page && (!found || found.dataset.watch !== watched.dataset.watch)) return location.reload();
      } catch {}
      setTimeout(look, 2000);
    };
    setTimeout(look, 2000);
  }

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
