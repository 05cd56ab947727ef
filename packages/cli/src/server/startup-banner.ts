/** The startup banner: how to create the first account, the servers, and with `--verbose` every address and client. */
import { hostConfiguration } from '../client/host-configuration.ts';
import type { ProcessContext } from '../process-context.ts';
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

/** URLs to be registered at an identity provider. */
export interface Callback {
  /** Name of the identity provider. */
  readonly name: string;
  readonly redirectUri: string;
  /** The back-channel logout URL; `null`: it reports no logouts. */
  readonly logoutUrl: string | null;
}

interface StartupFacts {
  /** The public origin, as configured. */
  readonly url: string;
  /** The address it listens on. */
  readonly address: string;
  /** The servers tokens are issued for; at least one. */
  readonly servers: readonly ProtectedServer[];
  /** URLs of the published metadata documents. */
  readonly documents: readonly string[];
  readonly callbacks: readonly Callback[];
  /** Address of the console for operators; `null`: it is off. */
  readonly console: string | null;
  readonly database: string;
  readonly key: string;
  readonly firstAccount: FirstAccount;
}

/** The program, and how the banner is written. */
type Program = Pick<ProcessContext, 'version' | 'command' | 'launch' | 'styled' | 'isVerbose'>;

/** Formats the banner, whose last line is `ready <url>`. */
export function startupBanner(started: StartupFacts, program: Program): string {
  const { version, command, styled, isVerbose } = program;
  const bold = (text: string) => (styled ? `\x1b[1m${text}\x1b[22m` : text);
  return [
    bold(`Portcullis ${version}`),
    '',
    ...accountLines(started, command, bold),
    '',
    ...rows([
      ...serverRows(started.servers),
      ...(started.console === null ? [] : [['console', started.console] as const]),
      ...started.callbacks.map(
        ({ name, redirectUri }, index): Row => [
          index === 0 ? 'redirect URI' : '',
          `${redirectUri}  (register it at ${name})`,
        ],
      ),
      ...started.callbacks.flatMap(({ name, logoutUrl }): readonly Row[] =>
        logoutUrl === null
          ? []
          : [['logout URL', `${logoutUrl}  (register it at ${name} for back-channel logout)`]],
      ),
      ...(isVerbose ? detailRows(started) : hintRows(started, command)),
    ]),
    '',
    ...(isVerbose ? clientLines(started, program, bold) : []),
    `ready ${started.url}`,
    '',
  ].join('\n');
}

function accountLines(
  { firstAccount: account, console }: StartupFacts,
  command: string,
  bold: (text: string) => string,
): readonly string[] {
  switch (account.state) {
    case 'awaited':
      return [bold('Create the first account with this one-time link, within a day:'), `  ${account.link}`];
    case 'elsewhere':
      return [`Users sign in with ${account.names.join(' or ')}.`];
    case 'made':
      return ['The first account was created from the settings.'];
    case 'there':
      return [
        'The first account exists. Sign in when a client requests access.',
        ...(console === null
          ? []
          : [`To make an account an operator: ${command} users role <email> operator`]),
      ];
    case 'there already':
      return [
        `The first account existed before, so ${account.unused} have no effect. To change the password: ${command} users reset <email>`,
      ];
  }
}

function serverRows(servers: readonly ProtectedServer[]): readonly Row[] {
  const own = servers.filter(({ isOwn }) => isOwn);
  const others = servers.filter(({ isOwn }) => !isOwn);
  return [
    ...own.map(({ name, url }, index): Row => {
      if (own.length === 1) return ['server', url];
      return [index === 0 ? 'servers' : '', `${url}  (${name})`];
    }),
    ...others.map(({ name, url }, index): Row => [index === 0 ? 'tokens for' : '', `${url}  (${name})`]),
  ];
}

function hintRows({ servers, url }: StartupFacts, command: string): readonly Row[] {
  return [
    ['try it', `${command} tools ${servers[0]?.url ?? url}`],
    ['more', '--verbose prints every address, and what hosts such as Claude Desktop need'],
  ];
}

function detailRows({ servers, documents, url, ...started }: StartupFacts): readonly Row[] {
  const own = servers.filter(({ isOwn }) => isOwn);
  return [
    ...own.flatMap(({ name, proposedScopes }): readonly Row[] => {
      if (proposedScopes === undefined) return [];
      const [reading, other] = proposedScopes;
      const whose = own.length > 1 ? `  (${name})` : '';
      return [['proposed', `${reading} for tools with readOnlyHint, ${other} for all others${whose}`]];
    }),
    ...own.slice(0, own.length === 1 ? 1 : 0).map(({ name }): Row => ['name', name]),
    ['issuer', url],
    ...documents.map((document, index): Row => [index === 0 ? 'metadata' : '', document]),
    ['listening', started.address],
    ['database', started.database],
    ['key', started.key],
    ['connections', `${url}/connections  (see and revoke access to an account)`],
    ...(started.console === null ? [['console', 'off: the setting admin turns it on'] as const] : []),
  ];
}

function clientLines(
  { servers, url }: StartupFacts,
  { command, launch }: Program,
  bold: (text: string) => string,
): readonly string[] {
  const server = servers[0]?.url ?? url;
  return [
    bold('Connect a client'),
    ...rows(clientRows(command, server)),
    '',
    bold('Connect a host that starts its servers as commands, such as Claude Desktop'),
    ...hostConfiguration(launch, servers)
      .split('\n')
      .map((line) => `  ${line}`),
    `  Without Portcullis on that computer: npx mcp-remote ${server}`,
    '',
  ];
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
