/** How to add a protected server to an app: its address, links that install it, and what well-known hosts need. */
import { html } from 'hono/html';
import type { Layout } from './layout.ts';
import type { Markup } from './markup.ts';

const mark = (content: Markup): Markup =>
  html`<svg class="host-mark" width="20" height="20" viewBox="0 0 20 20" fill="none" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${content}</svg>`;

/** A host that the pages explain. */
interface Host {
  /** A simple drawing by this project, in the colours by which it is known. */
  readonly mark: Markup;
  /** What to do, with the snippet. */
  readonly steps: (layout: Layout) => Markup | string;
  /** @param id a name of the server for configuration files */
  readonly snippet: (id: string, url: string) => string;
  /** A link that a host on this computer opens, and asks before it adds the server. */
  readonly install?: (id: string, url: string) => string;
}

const inFile = (file: string) => (layout: Layout) =>
  layout.say('connect.file', { file: html`<code>${file}</code>` });
const claudeCodeSnippet = (id: string, url: string) => `claude mcp add --transport http ${id} ${url}`;
const json = (value: object) => JSON.stringify(value, null, 2);

/**
 * @see https://cursor.com/docs/context/mcp/install-links, https://docs.cursor.com/context/mcp
 * @see https://code.visualstudio.com/api/extension-guides/ai/mcp, https://code.visualstudio.com/docs/agents/reference/mcp-configuration
 */
const HOSTS: Readonly<Record<string, Host>> = {
  Claude: {
    mark: mark(html`<path stroke="#d97757" d="M10 2.5v15M2.5 10h15M4.7 4.7l10.6 10.6M15.3 4.7 4.7 15.3"/>`),
    steps: ({ text }) => text('connect.claude'),
    snippet: (_id, url) => url,
  },
  'Claude Code': {
    mark: mark(html`<path stroke="#d97757" d="m4 6 4 4-4 4M10.5 14.5h5.5"/>`),
    steps: ({ text }) => text('connect.terminal'),
    snippet: claudeCodeSnippet,
  },
  Cursor: {
    mark: mark(
      html`<path stroke="currentColor" d="m10 2.2 6.8 3.9v7.8L10 17.8l-6.8-3.9V6.1zM3.4 6.2 10 10l6.6-3.8M10 10v7.6"/>`,
    ),
    steps: inFile('~/.cursor/mcp.json'),
    snippet: (id, url) => json({ mcpServers: { [id]: { url } } }),
    install: (id, url) => {
      const config = Buffer.from(JSON.stringify({ url })).toString('base64');
      return `cursor://anysphere.cursor-deeplink/mcp/install?name=${id}&config=${encodeURIComponent(config)}`;
    },
  },
  'VS Code': {
    mark: mark(
      html`<path stroke="#2b8ad6" d="m13.6 2.6 3.6 1.7v11.4l-3.6 1.7L6.2 10zM6.2 10l-2.6 2.1M6.2 10 3.6 7.9M13.6 2.6v14.8"/>`,
    ),
    steps: inFile('.vscode/mcp.json'),
    snippet: (id, url) => json({ servers: { [id]: { type: 'http', url } } }),
    install: (id, url) =>
      `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: id, type: 'http', url }))}`,
  },
  'MCP Inspector': {
    mark: mark(
      html`<circle cx="8.8" cy="8.8" r="5.6" stroke="currentColor"/><path stroke="currentColor" d="m13 13 4.2 4.2"/>`,
    ),
    steps: ({ text }) => text('connect.inspector'),
    snippet: () => 'npx @modelcontextprotocol/inspector',
  },
};

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
<details class="app host"><summary><span class="name">${layout.text('connect.hosts')}</span><span class="host-marks">${Object.values(HOSTS).map(({ mark }) => mark)}</span></summary>${hostList(layout, server)}</details>
</li>`;
}

/** Text with a button that copies it, which the script of the page makes work. */
export function copyable(layout: Layout, text: string): Markup {
  return html`<div class="copyable"><pre><code>${text}</code></pre><button type="button" class="button" data-copy="${text}" data-copied="${layout.text('connect.copied')}" hidden>${layout.text('connect.copy')}</button></div>`;
}

/** A link with which a host on this computer adds a server. */
export interface InstallLink {
  readonly host: string;
  readonly href: string;
}

/** The links of a server, for the hosts that have one. */
export function installLinksOf({ name, url }: ConnectableServer): readonly InstallLink[] {
  return Object.entries(HOSTS).flatMap(([host, { install }]) =>
    install === undefined ? [] : [{ host, href: install(shortNameOf(name), url) }],
  );
}

function installLinks(layout: Layout, server: ConnectableServer): Markup {
  return html`<p class="installs">${installLinksOf(server).map(
    ({ host, href }) =>
      html`<a class="button" href="${href}">${HOSTS[host]?.mark}<span>${layout.text('connect.add-to', { host })}</span></a>`,
  )}</p>`;
}

/** The command with which Claude Code adds a server. */
export function claudeCodeCommand({ name, url }: ConnectableServer): string {
  return claudeCodeSnippet(shortNameOf(name), url);
}

function hostList(layout: Layout, { name, url }: ConnectableServer): Markup {
  return html`<ul class="apps">${Object.entries(HOSTS).map(
    ([host, { mark, steps, snippet }]) => html`<li><details class="app host">
<summary>${mark}<strong class="name">${host}</strong></summary>
<div class="head steps"><p class="fact">${steps(layout)}</p>${copyable(layout, snippet(shortNameOf(name), url))}</div>
</details></li>`,
  )}</ul>`;
}

/** A name for configuration files: `notes` for "Notes". */
function shortNameOf(name: string): string {
  const id = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
  return id === '' ? 'server' : id;
}
