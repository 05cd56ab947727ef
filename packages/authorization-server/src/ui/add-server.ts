/** How to add a protected server to an app: its address, links that install it, and what well-known hosts need. */
import { html } from 'hono/html';
import { type HostName, hostMarks } from './host-marks.ts';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

/** A protected server that an app can be connected to. */
export interface ConnectableServer {
  /** In the language of the page. */
  readonly name: string;
  readonly url: string;
}

/** One server has its instructions open to view; of several, each unfolds its own. */
export function addServerSections(layout: Layout, servers: readonly ConnectableServer[]): Markup {
  const [first, ...others] = servers;
  if (first === undefined) return html``;
  if (others.length > 0) {
    return html`<ul class="rows close cards">${servers.map((server) => serverCard(layout, server))}</ul>`;
  }
  return html`<section class="head">
<h2>${layout.text('connect.address')}</h2>
${copyable(layout, first.url)}
${installLinks(layout, first)}
</section>
<section class="head">
<h2>${layout.text('connect.hosts')}</h2>
${hostList(layout, first)}
</section>`;
}

function serverCard(layout: Layout, server: ConnectableServer): Markup {
  return html`<li class="row">
<h2 class="name"><bdi>${server.name}</bdi></h2>
${copyable(layout, server.url)}
${installLinks(layout, server)}
<details class="app host"><summary><span class="name">${layout.text('connect.hosts')}</span><span class="host-marks">${Object.values(hostMarks)}</span></summary>${hostList(layout, server)}</details>
</li>`;
}

/** Text with a button that copies it, which the script of the page makes work. */
export function copyable(layout: Layout, text: string): Markup {
  return html`<div class="copyable"><pre><code>${text}</code></pre><button type="button" class="button" data-copy="${text}" data-copied="${layout.text('connect.copied')}" hidden>${layout.text('connect.copy')}</button></div>`;
}

/** A link with which a host on this computer adds a server. */
export interface InstallLink {
  readonly host: HostName;
  readonly href: string;
}

/**
 * Links that a host on this computer opens, and asks before it adds the server.
 * @see https://cursor.com/docs/context/mcp/install-links, https://code.visualstudio.com/api/extension-guides/ai/mcp
 */
export function installLinksOf({ name, url }: ConnectableServer): readonly InstallLink[] {
  const id = shortNameOf(name);
  const config = Buffer.from(JSON.stringify({ url })).toString('base64');
  return [
    {
      host: 'Cursor',
      href: `cursor://anysphere.cursor-deeplink/mcp/install?name=${id}&config=${encodeURIComponent(config)}`,
    },
    {
      host: 'VS Code',
      href: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: id, type: 'http', url }))}`,
    },
  ];
}

function installLinks(layout: Layout, server: ConnectableServer): Markup {
  return html`<p class="installs">${installLinksOf(server).map(
    ({ host, href }) =>
      html`<a class="button" href="${href}">${hostMarks[host]}<span>${layout.text('connect.add-to', { host })}</span></a>`,
  )}</p>`;
}

/** The command with which Claude Code adds a server. */
export function claudeCodeCommand({ name, url }: ConnectableServer): string {
  return `claude mcp add --transport http ${shortNameOf(name)} ${url}`;
}

function hostList(layout: Layout, server: ConnectableServer): Markup {
  return html`<ul class="apps">${hostsFor(layout, server).map(
    ({ host, steps, snippet }) => html`<li><details class="app host">
<summary>${hostMarks[host]}<strong class="name">${host}</strong></summary>
<div class="head steps"><p class="fact">${steps}</p>${copyable(layout, snippet)}</div>
</details></li>`,
  )}</ul>`;
}

interface HostInstructions {
  readonly host: HostName;
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
      snippet: claudeCodeCommand({ name, url }),
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
