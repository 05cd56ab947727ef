/** The script of every page of the console: local times and copy buttons. Everything else works without it. */

/** Plain JavaScript as browsers get it: no library, no other origin. */
export const CONSOLE_SCRIPT: string = `'use strict';
(() => {
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
  for (const time of document.querySelectorAll('time[datetime]')) time.title = exact.format(new Date(time.dateTime));
  for (const button of document.querySelectorAll('[data-copy]')) {
    if (!navigator.clipboard) break;
    const label = button.textContent;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = 'Copied';
      setTimeout(() => { button.textContent = label; }, 2000);
    });
    button.hidden = false;
  }
})();
`;
