/** Tries a server that is not configured yet: checks its options as the configuration does, and opens a session at its backend. */
import { createOptionReport, formatOptionIssue, readOption } from '@portcullis/authorization-server/options';
import { testServer } from '@portcullis/gateway';
import { defineServers, type GatewayServer, serversSchema } from '@portcullis/gateway/options';
import type { Administration } from './administration.ts';
import { OperationError } from './errors.ts';

/** What an operator wants to protect. */
export interface WantedServer {
  /** Of the MCP server. */
  readonly url: string;
  readonly path: string;
  readonly name: string;
  /** Groups whose users may use it; empty: all users. */
  readonly groups: readonly string[];
}

/** A server that works, as the configuration file defines it. */
export interface TriedServer {
  /** The entry of `servers`. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly server: GatewayServer;
  /** `null`: they are known only with a credential. */
  readonly tools: number | null;
  readonly revision: string;
}

/** Milliseconds. */
const PATIENCE = 8_000;

/** @throws OperationError that says which part fails */
export async function tryServer(admin: Administration, wanted: WantedServer): Promise<TriedServer> {
  const entry = entryOf(wanted);
  const server = defineServer(admin, entry);
  if (admin.servers().some(({ path }) => path === server.path))
    throw new OperationError('conflict', `There is a server at ${server.path} already: choose another path.`);
  if (server.backend === null) throw new OperationError('invalid', 'Name the address of the MCP server.');
  const result = await testServer(server, server.backend, PATIENCE);
  if (result.ok) return { entry, server, tools: result.tools, revision: result.revision };
  throw new OperationError('conflict', `${FAILURES[result.part]} ${result.reason}`);
}

const FAILURES = {
  backend: 'The server cannot be reached.',
  protocol: 'The server responds, but not as an MCP server.',
  credential: 'The server wants a credential: add it in the configuration file.',
} as const;

function entryOf({ url, path, name, groups }: WantedServer): TriedServer['entry'] {
  const id = path.split('/').at(-1) ?? '';
  const scopes = {
    [`${id}:read`]: { description: `Read with ${name}`, groups },
    [`${id}:write`]: { description: `Change with ${name}`, groups },
  };
  return { path, name, backend: { url }, ...(groups.length > 0 && { scopes }) };
}

function defineServer({ issuer }: Administration, entry: TriedServer['entry']): GatewayServer {
  const report = createOptionReport();
  const options = readOption(serversSchema(), [entry], ['servers'], report);
  const [server] = defineServers(options, { publicUrl: issuer, folder: '.' }, report);
  const [issue] = report.issues;
  if (issue !== undefined)
    throw new OperationError('invalid', formatOptionIssue(issue.path.slice(2).join('.'), issue.message));
  if (server === undefined)
    throw new OperationError('invalid', 'Name the address and the path of the server.');
  return server;
}
