/** The list of servers behind the gateway, with health and what waits for review. */
import { html, type Markup, monogram } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { backendOf, credentialsOf, healthOf } from '../../operations/servers.ts';
import { listPendingTools } from '../../operations/tools.ts';
import { links } from '../links.ts';
import { type ConsoleRoute, definePage } from '../page.ts';
import { countOf, empty, table, tag } from '../ui/parts.ts';

/** The health of a server in a word. */
export function healthTag(admin: Administration, path: string): Markup {
  const health = healthOf(admin, path);
  if (health === null) return tag('Not known yet');
  return health === 'up' ? tag('Up', 'good') : tag('Down', 'bad');
}

/** What the gateway has at the backend of a server, in words. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  none: 'none',
  environment: 'its environment',
  application: 'its own client',
  user: 'an account that each user connects',
  exchange: 'token exchange',
  enterprise: 'the identity provider',
  static: 'a fixed secret',
};

export const serverListPage: ConsoleRoute = definePage(links.servers, async ({ admin }) => {
  const [servers, pending] = [admin.servers(), await listPendingTools(admin)];
  const rows = servers.map((server) => {
    const waiting = pending.filter((one) => one.server === server.path).length;
    const credentials = credentialsOf(server);
    return [
      html`<a href="${links.server(server.path)}">${monogram(server.name, server.resource, 'server')}<bdi>${server.name}</bdi></a>`,
      html`<code>${server.path}</code>`,
      healthTag(admin, server.path),
      html`<bdi>${backendOf(server) ?? 'merges other servers'}</bdi>`,
      CREDENTIALS[credentials] ?? credentials,
      waiting === 0
        ? ''
        : html`<a href="${links.server(server.path)}#review">${countOf(waiting, 'tool')} to review</a>`,
    ];
  });
  return {
    section: 'servers',
    title: 'Servers',
    lead: 'MCP servers behind the gateway. They are defined in the configuration file.',
    action: { label: 'Protect a server', href: links.setup, isForOperators: true },
    body:
      rows.length === 0
        ? empty(
            'No server behind the gateway',
            'Name the address of an MCP server, choose who may use it, and export the configuration that protects it.',
            { label: 'Protect a server', href: links.setup },
          )
        : table(
            'Servers',
            [
              { heading: 'Server' },
              { heading: 'Path' },
              { heading: 'Health' },
              { heading: 'Backend' },
              { heading: 'Credential there' },
              { heading: 'Review' },
            ],
            rows,
          ),
  };
});
