/** How to connect an app: the addresses of the protected servers, and what well-known hosts need. */
import { html } from 'hono/html';
import type { Layout } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

export interface ConnectableServer {
  /** In the language of the page. */
  readonly name: string;
  readonly url: string;
}

/** @param servers in the order of the configuration; the instructions are for the first */
export function connectSections(layout: Layout, servers: readonly ConnectableServer[]): Markup {
  const [first] = servers;
  if (first === undefined) return html``;
  return html`<section class="head">
<h2>${layout.text('connect.address')}</h2>
<ul class="rows close">${servers.map((server) => html`<li>${servers.length > 1 && html`<p><bdi>${server.name}</bdi></p>`}${copyable(layout, server.url)}</li>`)}</ul>
</section>
<section class="head">
<h2>${layout.text('connect.hosts')}</h2>
<ul class="apps">${hostsFor(layout, first).map(
    ({ host, steps, snippet }) => html`<li><details class="app host">
<summary><strong class="name">${host}</strong></summary>
<div class="head steps"><p class="fact">${steps}</p>${copyable(layout, snippet)}</div>
</details></li>`,
  )}</ul>
</section>`;
}

/** Text with a button that copies it, which the script of the page makes work. */
export function copyable(layout: Layout, text: string): Markup {
  return html`<div class="copyable"><pre><code>${text}</code></pre><button type="button" class="button" data-copy="${text}" data-copied="${layout.text('connect.copied')}" hidden>${layout.text('connect.copy')}</button></div>`;
}

interface HostInstructions {
  readonly host: string;
  readonly steps: Markup | string;
  readonly snippet: string;
}

/** @see https://code.visualstudio.com/docs/agents/reference/mcp-configuration, https://docs.cursor.com/context/mcp */
function hostsFor(layout: Layout, { name, url }: ConnectableServer): readonly HostInstructions[] {
  const id = shortNameOf(name);
  const inFile = (file: string) => layout.say('connect.file', { file: html`<code>${file}</code>` });
  const json = (value: object) => JSON.stringify(value, null, 2);
  return [
    { host: 'Claude', steps: layout.text('connect.claude'), snippet: url },
    {
      host: 'Claude Code',
      steps: layout.text('connect.terminal'),
      snippet: `claude mcp add --transport http ${id} ${url}`,
    },
    { host: 'Cursor', steps: inFile('~/.cursor/mcp.json'), snippet: json({ mcpServers: { [id]: { url } } }) },
    {
      host: 'VS Code',
      steps: inFile('.vscode/mcp.json'),
      snippet: json({ servers: { [id]: { type: 'http', url } } }),
    },
    {
      host: 'MCP Inspector',
      steps: layout.text('connect.inspector'),
      snippet: 'npx @modelcontextprotocol/inspector',
    },
  ];
}

/** A name for configuration files: `notes` for "Notes". */
function shortNameOf(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return id === '' ? 'server' : id;
}
