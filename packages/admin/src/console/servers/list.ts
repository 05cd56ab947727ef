/** The list of servers behind the gateway, with health and what waits for review. */
import { html, type Markup, monogram } from '@portcullis/authorization-server/pages';
import type { GatewayServer } from '@portcullis/gateway/options';
import type { Administration } from '../../operations/administration.ts';
import { backendOf, credentialsOf, healthOf } from '../../operations/servers.ts';
import { links } from '../links.ts';
import { type ConsoleRoute, definePage } from '../page.ts';
import { countOf, empty, tag } from '../ui/parts.ts';
import { sortedTable } from '../ui/sorted-table.ts';

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

const HEALTH = { down: 0, up: 1 } as const;

export const serverListPage: ConsoleRoute = definePage(links.servers, async (request) => {
  const { admin } = request;
  const [servers, waiting] = [admin.servers(), await admin.store.countPendingPins()];
  const waitingAt = (path: string) => waiting.get(path) ?? 0;
  const credentialsAt = (server: GatewayServer) =>
    CREDENTIALS[credentialsOf(server)] ?? credentialsOf(server);
  const backendAt = (server: GatewayServer) => backendOf(server) ?? 'merges other servers';
  const rowOf = (server: GatewayServer) => [
    html`<a href="${links.server(server.path)}">${monogram(server.name, server.resource, 'server')}<bdi>${server.name}</bdi></a>`,
    html`<code>${server.path}</code>`,
    healthTag(admin, server.path),
    html`<bdi>${backendAt(server)}</bdi>`,
    credentialsAt(server),
    waitingAt(server.path) === 0
      ? ''
      : html`<a href="${links.server(server.path)}#review">${countOf(waitingAt(server.path), 'tool')} to review</a>`,
  ];
  const healthAt = ({ path }: GatewayServer) => HEALTH[healthOf(admin, path) ?? 'up'];
  return {
    title: 'Servers',
    lead: 'MCP servers behind the gateway. They are defined in the configuration file.',
    action: { label: 'Protect a server', href: links.setup, isForOperators: true },
    body:
      servers.length === 0
        ? empty(
            'No server behind the gateway',
            'Name the address of an MCP server, choose who may use it, and export the configuration that protects it. An application of this process, and servers with a guard of their own, are not listed.',
            { label: 'Protect a server', href: links.setup },
          )
        : sortedTable(
            request,
            'Servers',
            [
              { heading: 'Server', sort: ['server', ({ name }) => name] },
              { heading: 'Path', sort: ['path', ({ path }) => path] },
              { heading: 'Health', sort: ['health', healthAt] },
              { heading: 'Backend', sort: ['backend', backendAt] },
              { heading: 'Credential there', sort: ['credential', credentialsAt] },
              { heading: 'Review', sort: ['review', ({ path }) => -waitingAt(path)] },
            ],
            servers,
            rowOf,
          ),
  };
});
