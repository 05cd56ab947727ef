/** The dialogs of the command palette and of the keys, which the script opens. */
import { html, type Markup } from '@portcullis/authorization-server/pages';
import { links, SECTIONS } from '../links.ts';

const KEYS = [
  ['Ctrl K', 'Find a user, an app, a server, a reference, an action'],
  ['/', 'Search this list'],
  ['j', 'Next row'],
  ['k', 'Row before'],
  ...SECTIONS.map(({ key, label }) => [`g ${key}`, label] as const),
  ['?', 'These keys'],
] as const;

export const dialogs: Markup = html`<dialog id="palette" aria-label="Find" data-find="${links.find}">
<input type="text" role="combobox" aria-expanded="true" aria-controls="hits" aria-autocomplete="list" aria-label="Find a user, an app, a server, a reference, an action" placeholder="Find a user, an app, a server, a reference, an action" autocomplete="off" spellcheck="false">
<ul id="hits" role="listbox" aria-label="Found"></ul>
</dialog>
<dialog id="keys" aria-labelledby="keys-title"><div class="keys"><h2 id="keys-title">Keys</h2><dl class="facts">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl><form method="dialog"><button class="button">Close</button></form></div></dialog>`;
