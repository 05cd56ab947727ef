/** The startup banner: addresses, how to create the first account, and how to connect a client. */
import { hostConfiguration } from '../client/host-configuration.ts';
import type { LaunchCommand } from '../process-context.ts';
import type { ProtectedServer } from './protected-servers.ts';

/** The state of the first account. */
export type FirstAccount =
  /** A one-time link creates it. */
  | { readonly state: 'awaited'; readonly link: string }
  /** Users sign in with these identity providers or an application of the operator. */
  | { readonly state: 'elsewhere'; readonly names: readonly string[] }
  /** It was just created from the settings, or existed before. */
  | { readonly state: 'made' | 'there' }
  /** It existed before, so these settings have no effect. */
  | { readonly state: 'there already'; readonly unused: string };

/** A redirect URI, to be registered at an identity provider. */
export interface Callback {
  /** Name of the identity provider. */
  readonly name: string;
  readonly redirectUri: string;
}

export interface StartupFacts {
  readonly version: string;
  /** How a user runs this program. */
  readonly command: string;
  /** How a host starts it. */
  readonly launch: LaunchCommand;
  /** The public origin, as configured. */
  readonly url: string;
  /** The address it listens on. */
  readonly address: string;
  /** The servers tokens are issued for; at least one. */
  readonly servers: readonly ProtectedServer[];
  /** URLs of the published metadata documents. */
  readonly documents: readonly string[];
  readonly callbacks: readonly Callback[];
  readonly database: string;
  readonly key: string;
  readonly firstAccount: FirstAccount;
}

/** Formats the banner, whose last line is `ready <url>`. @param styled whether to use terminal styles */
export function startupBanner(started: StartupFacts, styled: boolean): string {
  const { url, servers } = started;
  const bold = (text: string) => (styled ? `\x1b[1m${text}\x1b[22m` : text);
  const [first] = servers;
  const own = servers.filter(({ isOwn }) => isOwn);
  const [single, ...others] = own;
  return [
    bold(`Portcullis ${started.version}`),
    '',
    bold(single === undefined ? 'Authorization server' : others.length > 0 ? 'Gateway' : single.name),
    ...rows([
      ...own.map(
        ({ name, url: location }, index): Row => [
          index === 0 ? (others.length > 0 ? 'servers' : 'server') : '',
          others.length > 0 ? `${location}  (${name})` : location,
        ],
      ),
      ...servers
        .filter(({ isOwn }) => !isOwn)
        .map(
          ({ name, url: location }, index): Row => [
            index === 0 ? 'tokens for' : '',
            `${location}  (${name})`,
          ],
        ),
      ...own.flatMap(({ name, proposedScopes }): readonly Row[] => {
        if (proposedScopes === undefined) return [];
        const [reading, other] = proposedScopes;
        const whose = others.length > 0 ? `  (${name})` : '';
        return [['proposed', `${reading} for tools with readOnlyHint, ${other} for all others${whose}`]];
      }),
      ['issuer', url],
      ...started.documents.map((document, index): Row => [index === 0 ? 'metadata' : '', document]),
      ...started.callbacks.map(
        ({ name, redirectUri }, index): Row => [
          index === 0 ? 'redirect URI' : '',
          `${redirectUri}  (register it at ${name})`,
        ],
      ),
      ['listening', started.address],
      ['database', started.database],
      ['key', started.key],
      ['connections', `${url}/connections  (see and revoke access to an account)`],
    ]),
    '',
    bold(started.firstAccount.state === 'elsewhere' ? 'Accounts' : 'First account'),
    ...accountLines(started).map((line) => `  ${line}`),
    '',
    bold('Connect a client'),
    ...rows(clientRows(started.command, first?.url ?? url)),
    '',
    bold('Connect a host that starts its servers as commands, such as Claude Desktop'),
    ...hostConfiguration(started.launch, servers)
      .split('\n')
      .map((line) => `  ${line}`),
    `  Without Portcullis on that computer: npx mcp-remote ${first?.url ?? url}`,
    '',
    `ready ${url}`,
    '',
  ].join('\n');
}

function accountLines({ firstAccount: account, command }: StartupFacts): readonly string[] {
  switch (account.state) {
    case 'awaited':
      return ['None yet. Create it with this one-time link:', account.link];
    case 'elsewhere':
      return [`Users sign in with ${account.names.join(' or ')}.`];
    case 'made':
      return ['Created from the settings. Sign in when a client requests access.'];
    case 'there':
      return ['It exists. Sign in when a client requests access.'];
    case 'there already':
      return [
        'It exists. Sign in when a client requests access.',
        `It existed before, so ${account.unused} have no effect. To change the password: ${command} users reset <email>`,
      ];
  }
}

function clientRows(command: string, server: string): readonly Row[] {
  return [
    ['command line', `${command} tools ${server}`],
    ['Inspector', `npx @modelcontextprotocol/inspector   (transport: Streamable HTTP, URL: ${server})`],
    [
      'SDK',
      `const { fetch } = createNodeClient({ serverUrl: '${server}' })   (from @portcullis/client/node)`,
    ],
    ['', `new StreamableHTTPClientTransport(new URL('${server}'), { fetch })`],
  ];
}

type Row = readonly [name: string, value: string];

function rows(table: readonly Row[]): readonly string[] {
  const width = Math.max(...table.map(([name]) => name.length));
  return table.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
