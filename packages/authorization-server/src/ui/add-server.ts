/** How to add a protected server to an app: its address, links that install it, and what well-known hosts need. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

const mark = (content: Markup): Markup =>
  html`<svg class="host-mark" width="20" height="20" viewBox="0 0 20 20" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${content}</svg>`;

/** The hosts that the pages explain, with their marks: simple drawings by this project, in the colours by which they are known. */
const hostMarks = {
  Claude: mark(html`<path stroke="#d97757" d="M10 2.5v15M2.5 10h15M4.7 4.7l10.6 10.6M15.3 4.7 4.7 15.3"/>`),
  'Claude Code': mark(html`<path stroke="#d97757" d="m4 6 4 4-4 4M10.5 14.5h5.5"/>`),
  Cursor: mark(
    html`<path stroke="currentColor" d="m10 2.2 6.8 3.9v7.8L10 17.8l-6.8-3.9V6.1zM3.4 6.2 10 10l6.6-3.8M10 10v7.6"/>`,
  ),
  'VS Code': mark(
    html`<path stroke="#2b8ad6" d="m13.6 2.6 3.6 1.7v11.4l-3.6 1.7L6.2 10zM6.2 10l-2.6 2.1M6.2 10 3.6 7.9M13.6 2.6v14.8"/>`,
  ),
  'MCP Inspector': mark(
    html`<circle cx="8.8" cy="8.8" r="5.6" stroke="currentColor"/><path stroke="currentColor" d="m13 13 4.2 4.2"/>`,
  ),
} as const;

type HostName = keyof typeof hostMarks;

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
