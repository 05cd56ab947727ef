/** What the program says when it has started: where everything is, how to make the first account, how to connect. */

export interface Announced {
  readonly version: string;
  /** The public origin, as configured. */
  readonly url: string;
  /** Where it really listens. */
  readonly address: string;
  readonly application: { readonly name: string; readonly url: string };
  /** URLs of the metadata documents that are published. */
  readonly documents: readonly string[];
  readonly database: string;
  readonly key: string;
  /** The one-time link that makes the first account; `null` when there is one. */
  readonly setupLink: string | null;
}

/** The text, whose last line is `ready <url>`. @param styled whether a terminal shows it */
export function announce(started: Announced, styled: boolean): string {
  const { url, application, setupLink } = started;
  const bold = (text: string) => (styled ? `\x1b[1m${text}\x1b[22m` : text);
  const account =
    setupLink === null
      ? ['There is one. Its owner signs in when a client asks for access.']
      : ['There is none yet. This link makes it, once:', setupLink];
  return [
    bold(`Portcullis ${started.version}`),
    '',
    bold(application.name),
    ...rows([
      ['server', application.url],
      ['issuer', url],
      ...started.documents.map((document, index): Row => [index === 0 ? 'metadata' : '', document]),
      ['listening', started.address],
      ['database', started.database],
      ['key', started.key],
    ]),
    '',
    bold('First account'),
    ...account.map((line) => `  ${line}`),
    '',
    bold('Connect a client'),
    ...rows([
      ['mcp-remote', `npx mcp-remote ${application.url}`],
      [
        'Inspector',
        `npx @modelcontextprotocol/inspector   (transport: Streamable HTTP, URL: ${application.url})`,
      ],
      [
        'SDK',
        `const { fetch } = createNodeClient({ serverUrl: '${application.url}' })   (of @portcullis/client/node)`,
      ],
      ['', `new StreamableHTTPClientTransport(new URL('${application.url}'), { fetch })`],
    ]),
    '',
    `ready ${url}`,
    '',
  ].join('\n');
}

type Row = readonly [name: string, value: string];

function rows(table: readonly Row[]): readonly string[] {
  const width = Math.max(...table.map(([name]) => name.length));
  return table.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}
