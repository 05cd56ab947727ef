/** What an operator sees of a server behind the gateway: its backend, its health, and the tools that are approved. */
import { testServer } from '@portcullis/gateway';
import type { GatewayServer } from '@portcullis/gateway/options';
import * as z from 'zod';
import type { Administration } from './administration.ts';
import { found } from './errors.ts';

/** URLs, or the command; `null`: it merges other servers. */
export function backendOf({ backend }: GatewayServer): string | null {
  if (backend === null) return null;
  return backend.kind === 'stdio'
    ? backend.command.join(' ')
    : backend.urls.map(({ href }) => href).join(', ');
}

/** How the gateway authenticates itself at the backend. */
export function credentialsOf({ backend }: GatewayServer): string {
  if (backend === null) return 'none';
  return backend.kind === 'stdio' ? 'environment' : backend.credentials.as;
}

/** @throws OperationError */
export function showServer({ servers }: Pick<Administration, 'servers'>, path: string): GatewayServer {
  return found(
    servers().find((server) => server.path === path),
    `server at ${path}`,
  );
}

/** What a test of a backend has found. */
export const serverTestSchema = z
  .object({
    path: z.string(),
    failed: z.enum(['backend', 'protocol', 'credential']).nullable().describe('null: it works'),
    reason: z.string().nullable(),
    tools: z.int().nullable().describe('how many; null: known only with the credential of a user'),
  })
  .meta({ id: 'ServerTest' });

type ServerTest = z.infer<typeof serverTestSchema>;

/** Opens a session with the backend of each server, or of one, as the gateway does, and lists its tools. @throws OperationError */
export async function testServers(
  admin: Pick<Administration, 'servers'>,
  path: string | undefined,
): Promise<readonly ServerTest[]> {
  const servers = path === undefined ? admin.servers() : [showServer(admin, path)];
  const results: ServerTest[] = [];
  for (const server of servers) {
    if (server.backend === null) continue;
    const result = await testServer(server, server.backend);
    const failed = result.ok ? null : result.part;
    const [reason, tools] = result.ok ? [null, result.tools] : [result.reason, null];
    results.push({ path: server.path, failed, reason, tools });
  }
  return results;
}

/** `null`: not known yet. */
export function healthOf({ health }: Pick<Administration, 'health'>, path: string): 'up' | 'down' | null {
  return health().find(({ server }) => server === path)?.status ?? null;
}

/** A tool as its backend defines it. */
export interface ApprovedTool {
  readonly name: string;
  readonly description: string | null;
  /** Says of itself that it changes nothing, or that it destroys. */
  readonly hint: 'read' | 'destroys' | null;
  /** Epoch seconds. */
  readonly changedAt: number;
}

/** The approved tools of a server, by name; those of a merged server are with its members. */
export async function listApprovedTools(
  { store }: Pick<Administration, 'store'>,
  { path, pinnedBackend }: GatewayServer,
): Promise<readonly ApprovedTool[]> {
  const pins = await store.findPins({ server: path, backend: pinnedBackend, kind: 'tool' });
  const approved = pins.filter(({ status }) => status === 'approved');
  // Of several approved definitions of a name, the latest.
  const latest = new Map(
    approved.toSorted((one, other) => one.changedAt - other.changedAt).map((pin) => [pin.name, pin]),
  );
  return [...latest.values()]
    .map(({ name, definition, changedAt }) => ({ name, changedAt, ...readDefinition(definition) }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function readDefinition(definition: string | null): Pick<ApprovedTool, 'description' | 'hint'> {
  const { description, annotations } = Object(JSON.parse(definition ?? '{}')) as {
    readonly description?: unknown;
    readonly annotations?: unknown;
  };
  const { readOnlyHint, destructiveHint } = Object(annotations) as Readonly<Record<string, unknown>>;
  const written = destructiveHint === true ? 'destroys' : null;
  return {
    description: typeof description === 'string' ? description : null,
    hint: readOnlyHint === true ? 'read' : written,
  };
}
