/** The protected resources of the gateway, as the authorization server issues tokens for them. */
import { type AccessCondition, claimsOfRules, joinConditions, readRule } from '@portcullis/policy';
import type { UserClaim } from '@portcullis/protocol';
import type { ResourceOptions } from '@portcullis/resource-server';
import type { GatewayServer, RuleTable } from './server.ts';

/** A resource definition of the authorization server. */
interface ServerResource {
  readonly resource: string;
  readonly name: string;
  readonly scopes: Readonly<Record<string, string>>;
  /** Of the proposed scopes. */
  readonly translations: Readonly<
    Record<TranslatedTo, { readonly scopes: Readonly<Record<string, string>> }>
  >;
  /** Conditions for granting a scope. */
  readonly grantableTo?: ScopeLimits;
  /** Claims about users that rules and limits of scopes depend on. */
  readonly claims: readonly UserClaim[];
  /** The guard asks the authorization server itself, so that a revocation takes effect at once. */
  readonly revocationDelay: 0;
}

/** The protected resources of servers, for the option `resources` of the authorization server. */
export function resourcesOf(servers: readonly GatewayServer[]): readonly ServerResource[] {
  return servers.map((server) => {
    const scopes = scopesOf(server, servers);
    const grantableTo = limitsOf(server, servers, Object.keys(scopes));
    const isLimited = Object.keys(grantableTo).length > 0;
    return {
      resource: server.resource,
      name: server.name,
      scopes,
      translations: translationsOf([server, ...partsOf(server, servers)], scopes),
      ...(isLimited && { grantableTo }),
      claims: claimsOf([server, ...partsOf(server, servers)], grantableTo),
      revocationDelay: 0,
    };
  });
}

type ScopeLimits = Readonly<Record<string, AccessCondition>>;

/** Claims about the user that access tokens have to contain, because rules and limits depend on them. */
function claimsOf(servers: readonly GatewayServer[], limits: ScopeLimits): readonly UserClaim[] {
  const rules = servers.flatMap((server) => rulesOf(server)).map(({ rule }) => readRule(rule));
  return claimsOfRules([...rules, ...Object.values(limits)]);
}

/** The same resources for the guard. */
export function guardResourcesOf(servers: readonly GatewayServer[]): readonly ResourceOptions[] {
  return resourcesOf(servers).map(({ resource, name, scopes }, index) => ({
    resource,
    name,
    defaultScopes: Object.keys(scopes),
    publicOperations: servers
      .slice(index, index + 1)
      .some((server) => publicPartsOf(server, servers).length > 0),
  }));
}

/** Whether an operation of a server is public. */
export function hasPublicOperations(server: Pick<GatewayServer, 'rules'>): boolean {
  return rulesOf(server).some(({ rule }) => readRule(rule).public === true);
}

/** The server itself and those that it merges, as far as they have public operations. */
export function publicPartsOf(
  server: GatewayServer,
  all: readonly GatewayServer[],
): readonly GatewayServer[] {
  return [server, ...partsOf(server, all)].filter(hasPublicOperations);
}

/** Whether a rule of the servers has a condition, so that conditions have to be loaded. */
export function hasConditions(servers: readonly Pick<GatewayServer, 'rules'>[]): boolean {
  return servers.some((server) => rulesOf(server).some(({ rule }) => readRule(rule).when !== undefined));
}

/** Whether a rule of the servers needs approvals of calls. */
export function hasApprovals(servers: readonly Pick<GatewayServer, 'rules'>[]): boolean {
  return servers.some((server) => rulesOf(server).some(({ rule }) => readRule(rule).approval !== undefined));
}

/** All rules of a server, each with its table and its pattern. */
export function rulesOf({ rules }: Pick<GatewayServer, 'rules'>) {
  return Object.entries(rules).flatMap(([table, patterns]: readonly [string, RuleTable | null]) =>
    Object.entries(patterns ?? {}).map(([pattern, rule]) => ({ table, pattern, rule })),
  );
}

/** The scopes of a server: configured, proposed, or those of its members. */
function scopesOf(server: GatewayServer, all: readonly GatewayServer[]): Readonly<Record<string, string>> {
  if (Object.keys(server.scopes).length > 0) return server.scopes;
  if (server.merges === null) return proposedScopes(server);
  return Object.assign({}, ...partsOf(server, all).map((part) => scopesOf(part, all)));
}

/** The servers that a server merges. */
export function partsOf({ merges }: GatewayServer, all: readonly GatewayServer[]): readonly GatewayServer[] {
  return Object.values(merges ?? {}).flatMap((path) => all.filter((one) => one.path === path));
}

/** The limits of scopes that a server has. Where it merges others, a scope is limited as in all of them. */
function limitsOf(
  server: GatewayServer,
  all: readonly GatewayServer[],
  scopes: readonly string[],
): ScopeLimits {
  const limits = new Map<string, AccessCondition>();
  for (const { grantableTo } of [server, ...partsOf(server, all)])
    for (const [scope, condition] of Object.entries(grantableTo))
      if (scopes.includes(scope)) limits.set(scope, joinConditions(limits.get(scope) ?? {}, condition));
  return Object.fromEntries(limits);
}

/** Without rules, reading and everything else are two scopes. */
const PROPOSED = {
  en: ['Use the tools of {name} that only read', 'Use the tools of {name} that make changes'],
  de: ['Tools von {name} verwenden, die nur lesen', 'Tools von {name} verwenden, die etwas ändern'],
  fr: [
    'Utiliser les outils de {name} qui ne font que lire',
    'Utiliser les outils de {name} qui font des modifications',
  ],
  es: ['Usar las herramientas de {name} que solo leen', 'Usar las herramientas de {name} que hacen cambios'],
  ja: ['{name} の読み取り専用ツールを使用する', '{name} の変更を行うツールを使用する'],
  zh: ['使用 {name} 中只读取数据的工具', '使用 {name} 中会进行更改的工具'],
} as const;

/** The languages of the pages, without the one of the scopes themselves. */
type TranslatedTo = Exclude<keyof typeof PROPOSED, 'en'>;

function proposedScopes(
  { id, name }: Pick<GatewayServer, 'id' | 'name'>,
  language: keyof typeof PROPOSED = 'en',
): Readonly<Record<string, string>> {
  const [reading, changing] = PROPOSED[language].map((sentence) => sentence.replace('{name}', () => name));
  return { [`${id}:read`]: reading ?? '', [`${id}:write`]: changing ?? '' };
}

/** Translations of the scopes that are proposed: what an operator has written is in the language of the operator. */
function translationsOf(
  servers: readonly GatewayServer[],
  scopes: Readonly<Record<string, string>>,
): ServerResource['translations'] {
  const proposing = servers.filter((server) =>
    Object.entries(proposedScopes(server)).every(([scope, sentence]) => scopes[scope] === sentence),
  );
  const to = (language: TranslatedTo) => ({
    scopes: Object.assign({}, ...proposing.map((server) => proposedScopes(server, language))),
  });
  return { de: to('de'), fr: to('fr'), es: to('es'), ja: to('ja'), zh: to('zh') };
}
