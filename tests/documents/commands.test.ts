/** The commands of every document run in its order, in a shell with a server. */
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { startPostgres } from '../support/postgres.ts';
import { type Block, readDocuments } from './blocks.ts';
import { asConfiguration, prepare, SECRET } from './configuration.ts';
import { ABSENT, ELSEWHERE } from './reasons.ts';
import { openShell } from './shell.ts';

const documents = readDocuments(fileURLToPath(new URL('../..', import.meta.url)));

const MCP = fileURLToPath(new URL('mcp-server.ts', import.meta.url));
const backend = { command: [process.execPath, MCP] };

/** The server that runs while the commands of a document do. */
const CONFIGURATION = {
  metricsToken: SECRET,
  servers: [
    {
      path: '/mcp',
      backend,
      scopes: { 'notes:read': 'Read notes', 'notes:write': 'Add notes' },
      tools: { 'list_*': ['notes:read'], '*': ['notes:write'] },
    },
    { path: '/wiki', backend: { command: [...backend.command, 'changes'] } },
    { path: '/files', backend },
  ],
};

/** For documents that do not say what is protected. */
const PLAIN = JSON.stringify(asConfiguration({}));

const ADD_REPORT =
  'portcullis clients add --id report --grant client_credentials --method client_secret_basic --scope notes:read --secret-file data/report.secret';

/** What a document assumes, in commands that run before its own. */
const BEFORE: Readonly<Record<string, string>> = {
  'docs/gateway.md': 'for _ in 1 2; do portcullis tools http://localhost:8484/wiki; done',
  'docs/guides/revoke.md': `${ADD_REPORT}; portcullis login http://localhost:8484/mcp`,
  'docs/guides/rotate.md': ADD_REPORT,
  'docs/identity-providers.md': 'portcullis login http://localhost:8484/mcp',
  'packages/create-portcullis/README.md': 'printf secret > google.secret; chmod 600 google.secret',
  'docs/operating.md': 'portcullis users add you@example.com',
};

/** Documents whose configurations are alternatives: the commands are about the server that runs. */
const ALTERNATIVES = ['docs/gateway.md'];

/** Documents whose own configuration serves their commands. */
const SERVED = [
  'docs/guides/admin-api.md',
  'docs/guides/console.md',
  'docs/guides/provisioning.md',
  'docs/guides/test-in-ci.md',
  'docs/guides/mail.md',
  'docs/guides/webhooks.md',
  'docs/policy.md',
];

describe('the commands of the documents', () => {
  const withCommands = documents.filter(({ file, blocks }) =>
    blocks.some(({ language }) => language === 'sh' && ELSEWHERE[`${file} sh`] === undefined),
  );

  it.each(withCommands)('of $file run in its order', async ({ file, text, blocks }) => {
    const configuration = SERVED.includes(file) ? serve(blocks) : CONFIGURATION;
    const { environment } = await prepare(configuration, tmpdir());
    const variables: Record<string, string> = {
      PORTCULLIS_METRICS_TOKEN: SECRET,
      TOKEN: 'a token',
      SCIM_TOKEN: 'a token',
      OKTA_SECRET: SECRET,
      ...environment,
      ...(SERVED.includes(file) && { PORTCULLIS_CONFIG: 'server.json' }),
    };
    await using shell = await openShell({
      configuration,
      absent: Object.keys(ABSENT),
      environment,
    });
    const database = text.includes('postgres://') ? await (await startPostgres()).createDatabase() : '';
    const names = [
      'portcullis.json',
      ...[...text.matchAll(/--config (\S+\.json)/g)].map(([, name = '']) => name),
    ];
    const given = ALTERNATIVES.includes(file) ? JSON.stringify(CONFIGURATION) : PLAIN;
    for (const name of names) shell.write(name, given);
    if (BEFORE[file] !== undefined) await shell.run(translate(BEFORE[file], shell.url, database));
    const isConfiguration = ({ language, text: json }: Block) =>
      language === 'json' && !json.includes('mcpServers') && !ALTERNATIVES.includes(file);
    const [first] = blocks.filter(isConfiguration);
    for (const block of blocks) {
      if (isConfiguration(block) && (block === first || !SERVED.includes(file))) {
        const prepared = await prepare(asConfiguration(JSON.parse(block.text)), shell.folder);
        for (const name of names) shell.write(name, prepared.configuration);
        Object.assign(variables, prepared.environment);
      }
      if (/^export const app\b/m.test(block.text)) shell.write('server.ts', block.text);
      if (block.language !== 'sh') continue;
      const lines = translate(block.text, shell.url, database).replaceAll(/\bgrant_\w+/g, '$(grant)');
      await shell.run(`${GRANT}${lines}`, variables).catch((error: unknown) => {
        throw new Error(`block ${block.number}\n${String(error)}`);
      });
    }
  });
});

/** The configuration of a document, with servers behind it that run. Its user has no second factor. */
function serve(blocks: readonly Block[]): object {
  const { admin, servers, ...json } = JSON.parse(
    blocks.find(({ language }) => language === 'json')?.text ?? '{}',
  );
  return {
    ...json,
    servers: servers?.map((server: object) => ({ ...server, backend })) ?? CONFIGURATION.servers,
    ...(admin !== undefined && { admin: { ...admin, secondFactor: false } }),
  };
}

/** The first connection of the user. */
const GRANT = `grant() { portcullis connections list ada@example.com --json | grep -om1 'grant_[A-Za-z0-9_-]*'; }\n`;

const PUBLIC = /(?<!--(?:public-url|location) |PUBLIC_URL=)https:\/\/(?:auth|mcp|mcp-auth)\.example\.com/g;

/** Lines with the addresses of this computer in place of those of the documents. */
function translate(lines: string, url: string, database: string): string {
  return lines
    .replaceAll(PUBLIC, url)
    .replaceAll(/http:\/\/localhost:(?:8484|3000)/g, url)
    .replaceAll('postgres://portcullis@db.internal/portcullis', database)
    .replaceAll('--port 8605', '--port 0')
    .replaceAll('--processes auto', '--processes 1');
}
