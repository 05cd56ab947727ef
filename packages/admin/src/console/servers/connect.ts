/** How apps are connected to a server: its address, links that install it, and what well-known hosts need. */
import { claudeCodeCommand, html, installLinksOf, type Markup } from '@portcullis/authorization-server/pages';
import { copyText } from '../ui/parts.ts';

/** The instructions. @param url of the server, with which apps are configured */
export function connectInstructions(name: string, url: string): Markup {
  const server = { name, url };
  return html`<div class="panel">
<div class="field"><h3>Claude and ChatGPT</h3><p class="hint">Add a custom connector in the settings, and paste the address.</p>${copyText(url)}</div>
<div class="field"><h3>Cursor and VS Code</h3><p class="hint">The link opens the app on this computer, which asks before it adds the server.</p><p class="buttons">${installLinksOf(server).map(({ host, href }) => html`<a class="button" href="${href}">Add to ${host}</a>`)}</p></div>
<div class="field"><h3>Claude Code</h3>${copyText(claudeCodeCommand(server))}</div>
</div>`;
}
