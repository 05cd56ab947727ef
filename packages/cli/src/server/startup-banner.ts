/** What the program says when it has started: where everything is, how to make the first account, how to connect. */
import type { ProtectedServer } from './protected-servers.ts';

/** How things stand with the first account. */
export type FirstAccount =
  /** A one-time link makes it. */
  | { readonly state: 'awaited'; readonly link: string }
  /** People have accounts elsewhere: with these third parties, or with an application of the operator. */
  | { readonly state: 'elsewhere'; readonly names: readonly string[] }
  /** It was made by the settings just now, or there was one before. */
  | { readonly state: 'made' | 'there' }
  /** There was one before, so that these settings change nothing. */
  | { readonly state: 'there already'; readonly unused: string };

/** Where a third party sends people back to: its operator registers it there. */
export interface Callback {
  /** What people call the third party. */
  readonly name: string;
  readonly redirectUri: string;
}

export interface Announced {
  readonly version: string;
  /** How a person calls this program. */
  readonly command: string;
  /** The public origin, as configured. */
  readonly url: string;
  /** Where it really listens. */
  readonly address: string;
  /** What tokens are issued for; at least one. */
  readonly servers: readonly ProtectedServer[];
  /** URLs of the metadata documents that are published. */
  readonly documents: readonly string[];
  readonly callbacks: readonly Callback[];
  readonly database: string;
  readonly key: string;
  readonly firstAccount: FirstAccount;
}

/** The text, whose last line is `ready <url>`. @param styled whether a terminal shows it */
export function announce(started: Announced, styled: boolean): string {
  const { url, servers } = started;
  const bold = (text: string) => (styled ? `\x1b[1m${text}\x1b[22m` : text);
  const [first] = servers;
  const own = servers.find(({ isOwn }) => isOwn);
  return [
    bold(`Portcullis ${started.version}`),
    '',
    bold(own === undefined ? 'Authorization server' : own.name),
    ...rows([
      ...(own === undefined ? [] : [['server', own.url] as const]),
      ...servers
        .filter(({ isOwn }) => !isOwn)
        .map(({ name, url: place }, index): Row => [index === 0 ? 'tokens for' : '', `${place}  (${name})`]),
      ['issuer', url],
      ...started.documents.map((document, index): Row => [index === 0 ? 'metadata' : '', document]),
      ...started.callbacks.map(
        ({ name, redirectUri }, index): Row => [
          index === 0 ? 'redirect URI' : '',
          `${redirectUri}  (to register at ${name})`,
        ],
      ),
      ['listening', started.address],
      ['database', started.database],
      ['key', started.key],
      ['connections', `${url}/connections  (who has access to an account, and how to end it)`],
    ]),
    '',
    bold(started.firstAccount.state === 'elsewhere' ? 'Accounts' : 'First account'),
    ...accountLines(started).map((line) => `  ${line}`),
    '',
    bold('Connect a client'),
    ...rows(waysIn(started.command, first?.url ?? url)),
    '',
    `ready ${url}`,
    '',
  ].join('\n');
}

function accountLines({ firstAccount: account, command }: Announced): readonly string[] {
  switch (account.state) {
    case 'awaited':
      return ['There is none yet. This link makes it, once:', account.link];
    case 'elsewhere':
      return [`None here: users sign in with ${account.names.join(' or ')}.`];
    case 'made':
      return ['It has just been made by the settings. Its owner signs in when a client asks for access.'];
    case 'there':
      return ['There is one. Its owner signs in when a client asks for access.'];
    case 'there already':
      return [
        'There is one. Its owner signs in when a client asks for access.',
        `It was there before, so ${account.unused} change nothing. For another password: ${command} users reset <email>`,
      ];
  }
}

function waysIn(command: string, server: string): readonly Row[] {
  return [
    ['by hand', `${command} tools ${server}`],
    ['stdio hosts', `${command} connect ${server}   (or: npx mcp-remote ${server})`],
    ['Inspector', `npx @modelcontextprotocol/inspector   (transport: Streamable HTTP, URL: ${server})`],
    ['SDK', `const { fetch } = createNodeClient({ serverUrl: '${server}' })   (of @portcullis/client/node)`],
    ['', `new StreamableHTTPClientTransport(new URL('${server}'), { fetch })`],
  ];
}

type Row = readonly [name: string, value: string];

function rows(table: readonly Row[]): readonly string[] {
  const width = Math.max(...table.map(([name]) => name.length));
  return table.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
