/** Definitions of servers from their options: the rules between members, and complete defaults. */
import { resolve } from 'node:path';
import { type OptionReport, reportUnknownClaims } from '@portcullis/authorization-server/options';
import {
  type AccessCondition,
  type CompileCondition,
  ConditionError,
  loadConditions,
  readRule,
  unavailableClaims,
} from '@portcullis/policy';
import { defineCredentials } from './credential-options.ts';
import {
  commandDefaults,
  httpMembers,
  processMembers,
  type ReadBackend,
  type ReadServer,
} from './options.ts';
import { rulesOf } from './resources.ts';
import type { AccessRules, BackendDefinition, GatewayServer } from './server.ts';

/** What `defineServers` needs besides the configured servers. */
export interface ServerSources {
  /** The origin under which each server has its path. */
  readonly publicUrl: string;
  /** Base of relative folders. */
  readonly folder: string;
}

/**
 * Defines the servers; issues go to the report, below `servers`.
 * @returns those without issues of their own that would prevent a definition
 */
export function defineServers(
  servers: readonly ReadServer[],
  sources: ServerSources,
  report: OptionReport,
): readonly GatewayServer[] {
  const defined = servers.flatMap((options, index) => {
    const at = (...path: readonly string[]) => ['servers', index, ...path];
    if (report.isUnread('servers', index, 'path')) return [];
    const backend = defineBackend(options, sources, at, report);
    return backend === undefined ? [] : [defineServer(options, backend, sources, at, report)];
  });
  checkPaths(servers, report);
  checkMerges(servers, report);
  return defined;
}

type At = (...path: readonly string[]) => readonly (string | number)[];

function defineServer(
  options: ReadServer,
  backend: BackendDefinition | null,
  { publicUrl }: ServerSources,
  at: At,
  report: OptionReport,
): GatewayServer {
  const { path, scopes = {}, review, unknownMethods, limits } = options;
  const id = path.split('/').at(-1) ?? '';
  const rules = rulesOfOptions(options);
  checkScopes(scopes, rules, at, report);
  for (const [scope, entry] of Object.entries(scopes))
    if (typeof entry !== 'string') reportUnknownClaims(entry, at('scopes', scope), report);
  return Object.freeze<GatewayServer>({
    path,
    id,
    name: options.name ?? id,
    resource: `${new URL(publicUrl).origin}${path}`,
    backend,
    merges: options.merges ?? null,
    ...defineScopes(scopes),
    rules,
    review,
    unknownMethods,
    toolChallenges: options.toolChallenges ?? [],
    // Limits are missing if another member could not be read.
    limits: { ...limits, callsPerMinute: limits?.callsPerMinute || null },
    audit: options.keepArguments === undefined ? null : { redact: options.keepArguments.redact ?? [] },
    pinnedBackend: addressOf(backend),
  });
}

function addressOf(backend: BackendDefinition | null): string {
  if (backend === null) return 'merged';
  return backend.kind === 'stdio' ? JSON.stringify(backend.command) : (backend.urls[0]?.href ?? '');
}

function rulesOfOptions({ tools, resources, prompts, methods }: ReadServer): AccessRules {
  return {
    tools: tools ?? null,
    resources: resources ?? null,
    prompts: prompts ?? null,
    methods: methods ?? null,
  };
}

/** `undefined`: it has issues. */
function defineBackend(
  { backend, merges }: ReadServer,
  sources: ServerSources,
  at: At,
  report: OptionReport,
): BackendDefinition | null | undefined {
  if ((backend === undefined) === (merges === undefined)) {
    if (!report.isUnread(...at('backend')) && !report.isUnread(...at('merges')))
      report.add(at(), 'must have either backend or merges');
    return undefined;
  }
  if (backend === undefined) return null;
  const { url, command } = backend;
  if ((url === undefined) === (command === undefined)) {
    if (!report.isUnread(...at('backend', 'url')) && !report.isUnread(...at('backend', 'command')))
      report.add(at('backend'), 'must have either url or command');
    return undefined;
  }
  const [kind, foreign] = url === undefined ? ['url', httpMembers()] : ['command', processMembers()];
  for (const name of Object.keys(foreign) as readonly (keyof ReadBackend)[])
    if (backend[name] !== undefined) report.add(at('backend', name), `needs ${kind}, which is not set`);
  return command === undefined ? defineRemote(backend, at, report) : defineProcess(backend, command, sources);
}

function defineRemote(backend: ReadBackend, at: At, report: OptionReport): BackendDefinition | undefined {
  const written = typeof backend.url === 'string' ? [backend.url] : (backend.url ?? []);
  const [first, ...rest] = written.map((url) => new URL(url));
  if (first === undefined) return undefined;
  const credentials = defineCredentials(backend.credentials, at('backend', 'credentials'), report);
  const forward = (backend.forward ?? []).map((name) => name.toLowerCase());
  return { kind: backend.transport ?? 'http', urls: [first, ...rest], credentials, forward };
}

function defineProcess(
  {
    folder,
    environment = {},
    process = commandDefaults.process,
    isolation,
    identity,
    ...limits
  }: ReadBackend,
  [file = '', ...words]: readonly string[],
  sources: ServerSources,
): BackendDefinition {
  return {
    kind: 'stdio',
    command: [file, ...words],
    folder: resolve(sources.folder, folder ?? ''),
    environment,
    process,
    ...(isolation && { isolation }),
    ...(identity && { identity }),
    limits: {
      processes: limits.processes ?? commandDefaults.processes,
      idle: limits.idle ?? commandDefaults.idle,
      memory: limits.memory === undefined ? null : limits.memory * 1024 * 1024,
    },
  };
}

type WrittenScopes = NonNullable<ReadServer['scopes']>;

function defineScopes(written: WrittenScopes): Pick<GatewayServer, 'scopes' | 'grantableTo'> {
  const entries = Object.entries(written);
  const limited = entries.flatMap(([scope, entry]) => {
    if (typeof entry === 'string') return [];
    const { description: _description, ...condition } = entry;
    if (unavailableClaims(condition).length > 0) return [[scope, NO_CLIENT] as const];
    return Object.keys(condition).length === 0 ? [] : [[scope, condition] as const];
  });
  return {
    scopes: Object.fromEntries(
      entries.map(([scope, entry]) => [scope, typeof entry === 'string' ? entry : entry.description]),
    ),
    grantableTo: Object.fromEntries(limited),
  };
}

/** Placeholder for a condition with an issue. */
const NO_CLIENT: AccessCondition = { clients: [] };

function checkScopes(scopes: WrittenScopes, rules: AccessRules, at: At, report: OptionReport): void {
  const known = Object.keys(scopes);
  for (const { table, pattern, rule } of rulesOf({ rules })) {
    const { scopes: needed = [], public: isPublic = false, ...others } = readRule(rule);
    for (const scope of needed.filter((one) => !known.includes(one)))
      report.add(at(table, pattern), `unknown scope ${JSON.stringify(scope)}: describe it in scopes`);
    const unmet = [...(needed.length > 0 ? ['scopes'] : []), ...Object.keys(others)].filter(
      (name) => name !== 'when',
    );
    if (others.approval !== undefined && table !== 'tools')
      report.add(at(table, pattern, 'approval'), 'is for calls of tools only');
    if (isPublic && unmet.length > 0)
      report.add(at(table, pattern), `must not have public beside ${unmet.join(', ')}, which need a token`);
  }
}

/**
 * Checks the conditions of rules; issues go to the report, below `servers`.
 * @param servers as configured
 */
export async function checkConditions(servers: readonly ReadServer[], report: OptionReport): Promise<void> {
  const rules = servers.flatMap((server, index) => {
    if (report.isUnread('servers', index)) return [];
    return rulesOf({ rules: rulesOfOptions(server) }).map((one) => ({
      ...one,
      index,
      ...readRule(one.rule),
    }));
  });
  if (rules.every(({ when }) => when === undefined)) return;
  const compile = await loadConditions();
  for (const { index, table, pattern, when } of rules) {
    const issue = when === undefined ? null : findIssue(compile, when);
    if (issue !== null) report.add(['servers', index, table, pattern, 'when'], issue);
  }
}

function findIssue(compile: CompileCondition, source: string): string | null {
  try {
    compile(source);
    return null;
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    const { message, position } = error;
    return position === null ? message : `line ${position.line}, column ${position.column}: ${message}`;
  }
}

/** Each path is a resource; paths that only differ in the case of letters would be one for some routers. */
function checkPaths(servers: readonly ReadServer[], report: OptionReport): void {
  const seen = new Map<string, number>();
  for (const [index, server] of servers.entries()) {
    if (report.isUnread('servers', index, 'path')) continue;
    const { path } = server;
    const comparable = path.toLowerCase();
    if (seen.has(comparable))
      report.add(['servers', index, 'path'], `is that of servers.${seen.get(comparable)}`);
    else seen.set(comparable, index);
  }
}

const RULE_TABLES = ['tools', 'resources', 'prompts', 'methods'] as const;

/** Prefixes of merged servers, before `__`. */
const PREFIX = /^[A-Za-z\d](?:[A-Za-z\d-]|_(?!_))*$/;

function checkMerges(servers: readonly ReadServer[], report: OptionReport): void {
  for (const [index, server] of servers.entries()) {
    if (report.isUnread('servers', index, 'merges')) continue;
    const { merges = {} } = server;
    for (const table of server.merges === undefined ? [] : RULE_TABLES) {
      if (server[table] !== undefined)
        report.add(['servers', index, table], 'belongs to the members of a merged server: their rules apply');
    }
    for (const [prefix, path] of Object.entries(merges)) {
      const at = ['servers', index, 'merges', prefix];
      const merged = servers.find((one) => one?.path === path);
      if (!PREFIX.test(prefix) || prefix.endsWith('_'))
        report.add(at, 'must have a prefix of letters, digits, - and single _');
      if (merged === undefined) report.add(at, `names ${path}, which is the path of no server`);
      else if (merged.merges !== undefined) report.add(at, `names ${path}, which merges others itself`);
    }
  }
}
