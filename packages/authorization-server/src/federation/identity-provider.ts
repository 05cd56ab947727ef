/** A third party as judged: nothing in it is optional or wrong. */
import { impliedScopes, isScope, isSecureUrl, readWebUrl, type Scopes } from '@portcullis/protocol';
import { type ProviderClientAuthentication, providerClientAuthentications } from './client-authentication.ts';
import { type ProviderClientKey, validateClientKey } from './client-key.ts';
import type {
  AllowedUsers,
  IdentityProviderOptions,
  OpenIdProvider,
  PlainProvider,
  StatusWay,
  UserinfoClaims,
} from './provider-options.ts';

export interface IdentityProvider {
  readonly id: string;
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly clientKey: ProviderClientKey | null;
  /** `none`: a public client there. */
  readonly clientAuthentication: ProviderClientAuthentication;
  readonly responseMode: 'query' | 'form_post';
  /** Where it sends people back to. Each third party has an address of its own, so that none can answer for another. @see RFC 9700 §4.4.2.2 */
  readonly redirectUri: string;
  readonly scopes: Scopes;
  readonly upstreamScopes: Readonly<Record<string, Scopes>>;
  readonly provider: Provider;
  readonly parameters: Readonly<Record<string, string>>;
  readonly allowedUsers: AllowedUsers;
  /** `null`: the best way there is. */
  readonly status: StatusWay | null;
  readonly statusCheckInterval: number;
  readonly revocationEnds: 'grant' | 'everything';
}

type Provider =
  | { readonly protocol: 'openid'; readonly issuer: string }
  | {
      readonly protocol: 'oauth';
      readonly issuer: string;
      /** Whether the operator said what it calls itself: then an `iss` in its answers is compared. */
      readonly sendsIssuer: boolean;
      readonly endpoints: PlainProvider['endpoints'];
      readonly userinfoClaims: UserinfoClaims;
      readonly responseFormat: NonNullable<PlainProvider['responseFormat']>;
    };

/** Parameters of the authorization request that are this server's own to choose. */
const OURS = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'user_scope', 'state', 'nonce',
  'code_challenge', 'code_challenge_method', 'request', 'request_uri',
]; // biome-ignore format: one list

/** What stands behind `/login/` already. */
const RESERVED = ['code', 'passkey'];

/** What the judgement needs to know of the rest. */
interface Surroundings {
  readonly issuer: string;
  readonly resources: readonly {
    readonly scopes: Readonly<Record<string, string>>;
    readonly hierarchy?: Readonly<Record<string, Scopes>>;
  }[];
  readonly identityProviders?: readonly IdentityProviderOptions[];
  readonly localAccounts?: boolean;
}

/** Judges what an operator says of third parties, and adds every fault to the list. */
export function validateIdentityProviders(
  { issuer, resources, identityProviders = [], localAccounts = true }: Surroundings,
  issues: string[],
): ReadonlyMap<string, IdentityProvider> {
  const scopes = new Set(resources.flatMap((resource) => Object.keys(resource.scopes)));
  const judged = new Map<string, IdentityProvider>();
  for (const [index, options] of identityProviders.entries()) {
    const at = `identityProviders.${index}`;
    if (!/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(options.id)) {
      issues.push(`${at}.id must be 1 to 32 lowercase letters, digits and hyphens`);
    }
    if (RESERVED.includes(options.id)) issues.push(`${at}.id: ${options.id} is the name of a page here`);
    if (judged.has(options.id)) issues.push(`${at}.id stands there twice`);
    const party = judge(options, at, { issuer, scopes }, issues);
    judged.set(
      options.id,
      Object.freeze({ ...party, upstreamScopes: withImplied(party.upstreamScopes, resources) }),
    );
  }
  judgeUsers([...judged.values()], issues);
  if (!localAccounts && judged.size === 0) {
    issues.push('localAccounts: without them there must be a third party, or nobody could sign in');
  }
  return judged;
}

/**
 * People are known by issuer and subject. Where two third parties have one issuer, a subject has to mean the same person at
 * both, or one could come in as somebody of the other.
 */
function judgeUsers(identityProviders: readonly IdentityProvider[], issues: string[]): void {
  for (const [index, { provider }] of identityProviders.entries()) {
    const before = identityProviders.slice(0, index);
    const other = before.find((one) => one.provider.issuer === provider.issuer);
    if (other !== undefined && subjectsOf(other.provider) !== subjectsOf(provider)) {
      issues.push(
        `identityProviders.${index}.kind.issuer must not be that of ${other.id}, ${provider.issuer}: their people could not be told apart`,
      );
    }
  }
}

/** A scope that implies others rests on what they rest on: otherwise it would be a way round them. */
function withImplied(
  upstreamScopes: IdentityProvider['upstreamScopes'],
  resources: Surroundings['resources'],
): IdentityProvider['upstreamScopes'] {
  const entries = resources.flatMap(({ scopes, hierarchy = {} }) =>
    Object.keys(scopes).map((scope): [string, Scopes] => [
      scope,
      [...impliedScopes([scope], hierarchy)].flatMap((implied) => needs(upstreamScopes, implied)),
    ]),
  );
  const merged = new Map<string, ReadonlySet<string>>();
  for (const [scope, needed] of [...Object.entries(upstreamScopes), ...entries]) {
    merged.set(scope, new Set([...(merged.get(scope) ?? []), ...needed]));
  }
  return Object.fromEntries(
    [...merged].flatMap(([scope, all]) => (all.size === 0 ? [] : [[scope, [...all]]])),
  );
}

/** Who says which subjects there are. */
function subjectsOf(provider: Provider): string {
  return provider.protocol === 'openid'
    ? provider.protocol
    : JSON.stringify([provider.endpoints.userinfo, provider.userinfoClaims.subject]);
}

function judge(
  options: IdentityProviderOptions,
  at: string,
  { issuer, scopes: ourScopes }: { readonly issuer: string; readonly scopes: ReadonlySet<string> },
  issues: string[],
): IdentityProvider {
  if (options.name.trim() === '') issues.push(`${at}.name must say what people call it`);
  if (options.clientId === '') issues.push(`${at}.clientId must say what this server is called there`);
  if (options.clientSecret === '')
    issues.push(`${at}.clientSecret must not be empty: leave it out if there is none`);
  const { upstreamScopes = {}, parameters = {}, statusCheckInterval = 60 } = options;
  for (const scope of [...options.scopes, ...Object.values(upstreamScopes).flat()].filter(
    (one) => !isScope(one),
  )) {
    issues.push(`${at}: ${JSON.stringify(scope)} is no scope`);
  }
  for (const scope of Object.keys(upstreamScopes).filter((one) => !ourScopes.has(one))) {
    issues.push(`${at}.upstreamScopes: ${JSON.stringify(scope)} is no scope of a resource here`);
  }
  for (const name of Object.keys(parameters).filter((one) => OURS.includes(one))) {
    issues.push(`${at}.parameters: ${name} is chosen by this server`);
  }
  if (!Number.isSafeInteger(statusCheckInterval) || statusCheckInterval < 1 || statusCheckInterval > 86_400) {
    issues.push(`${at}.statusCheckInterval must be whole seconds, 1 to 86400`);
  }
  const provider =
    'issuer' in options.kind && !('endpoints' in options.kind)
      ? judgeOpenId(options.kind, options.scopes, at, issues)
      : judgePlain(options.kind as PlainProvider, at, issues);
  if (
    options.status === 'introspection' &&
    provider.protocol === 'oauth' &&
    provider.endpoints.introspection === undefined
  ) {
    issues.push(`${at}.status: introspection needs endpoints.introspection`);
  }
  return Object.freeze<IdentityProvider>({
    id: options.id,
    name: options.name,
    clientId: options.clientId,
    clientSecret: options.clientSecret ?? null,
    ...judgeProof(options, at, issues),
    responseMode: options.responseMode ?? 'query',
    redirectUri: redirectUriOf(issuer, options.id),
    scopes: options.scopes,
    upstreamScopes,
    provider,
    parameters,
    allowedUsers: options.allowedUsers ?? {},
    status: options.status ?? null,
    statusCheckInterval,
    revocationEnds: options.revocationEnds ?? 'grant',
  });
}

/** The redirect URI of this server at a third party, by its identifier here: its operator registers it there. */
export function redirectUriOf(issuer: string, id: string): string {
  return `${URL.parse(issuer)?.origin ?? issuer}/callback/${id}`;
}

/** A way needs what it proves by, and nothing else lies about. */
function judgeProof(
  { clientSecret, clientKey, clientAuthentication, kind }: IdentityProviderOptions,
  at: string,
  issues: string[],
): Pick<IdentityProvider, 'clientKey' | 'clientAuthentication'> {
  if (
    clientAuthentication !== undefined &&
    !Object.hasOwn(providerClientAuthentications, clientAuthentication)
  ) {
    issues.push(`${at}.clientAuthentication: ${String(clientAuthentication)} is no way that is known`);
    return { clientKey: null, clientAuthentication: 'none' };
  }
  const by = clientKey !== undefined ? 'key' : clientSecret !== undefined ? 'secret' : 'nothing';
  const usual = { key: 'private_key_jwt', secret: 'client_secret_basic', nothing: 'none' } as const;
  // Without a secret a way to send one says nothing.
  const way =
    by === 'nothing' && providerClientAuthentications[clientAuthentication ?? 'none'].by !== 'key'
      ? 'none'
      : (clientAuthentication ?? usual[by]);
  if (clientKey !== undefined && clientSecret !== undefined)
    issues.push(`${at}: clientSecret and clientKey must not both be there`);
  else if (providerClientAuthentications[way].by !== by)
    issues.push(`${at}.clientAuthentication: ${way} needs ${by === 'key' ? 'clientSecret' : 'clientKey'}`);
  if (
    clientKey !== undefined &&
    'responseFormat' in kind &&
    (kind.responseFormat ?? 'standard') !== 'standard'
  )
    issues.push(
      `${at}.clientKey: a third party with the response format ${kind.responseFormat} knows secrets only`,
    );
  const key = clientKey === undefined ? null : validateClientKey(clientKey, `${at}.clientKey`, issues);
  return { clientKey: key, clientAuthentication: way };
}

function judgeOpenId({ issuer }: OpenIdProvider, scopes: Scopes, at: string, issues: string[]): Provider {
  judgeUrl(issuer, `${at}.kind.issuer`, issues);
  if (!scopes.includes('openid'))
    issues.push(`${at}.scopes must hold openid, by which the provider says who somebody is`);
  return { protocol: 'openid', issuer };
}

function judgePlain(kind: PlainProvider, at: string, issues: string[]): Provider {
  for (const [name, url] of Object.entries(kind.endpoints))
    judgeUrl(url, `${at}.kind.endpoints.${name}`, issues);
  if (kind.issuer !== undefined) judgeUrl(kind.issuer, `${at}.kind.issuer`, issues);
  if (kind.userinfoClaims.subject === '')
    issues.push(`${at}.kind.userinfoClaims.subject must name the member that says who somebody is`);
  return {
    protocol: 'oauth',
    issuer: kind.issuer ?? URL.parse(kind.endpoints.authorization)?.origin ?? '',
    sendsIssuer: kind.issuer !== undefined,
    endpoints: kind.endpoints,
    userinfoClaims: kind.userinfoClaims,
    responseFormat: kind.responseFormat ?? 'standard',
  };
}

/** Tokens travel there: https, or http to this computer. */
function judgeUrl(text: string, at: string, issues: string[]): void {
  const url = readWebUrl(text);
  if (url === null || !isSecureUrl(url) || url.hash !== '') {
    issues.push(`${at} must be an https URL, not ${JSON.stringify(text)}`);
  }
}

/**
 * What is asked for at a third party when these scopes of ours were allowed: what everybody is asked for, and what these
 * rest on.
 */
export function upstreamScopesFor({ scopes, upstreamScopes }: IdentityProvider, ours: Scopes): Scopes {
  return [...new Set([...scopes, ...ours.flatMap((scope) => needs(upstreamScopes, scope))])];
}

/** The scopes of ours that what was granted there carries. Ours MUST NOT exceed what they rest on. @see seed 4.5(3) */
export function coveredScopes({ upstreamScopes }: IdentityProvider, ours: Scopes, there: Scopes): Scopes {
  return ours.filter((scope) => needs(upstreamScopes, scope).every((needed) => there.includes(needed)));
}

function needs(upstreamScopes: IdentityProvider['upstreamScopes'], scope: string): Scopes {
  return Object.hasOwn(upstreamScopes, scope) ? (upstreamScopes[scope] ?? []) : [];
}
