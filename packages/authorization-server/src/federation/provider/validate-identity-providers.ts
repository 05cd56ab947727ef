/** Validates the options of identity providers, and reports every issue. */
import {
  impliedScopes,
  isScope,
  isSecureUrl,
  readWebUrl,
  type ScopeHierarchy,
  type Scopes,
} from '@portcullis/protocol';
import type { OptionReport } from '../../option-schema/reader.ts';
import { areScopesRead, type ResourceDefinition } from '../../resources/options.ts';
import { providerClientAuthentications } from './client-authentication.ts';
import { validateClientKey } from './client-key.ts';
import { completeEntry } from './complete-entry.ts';
import {
  type IdentityProvider,
  type ProviderProtocol,
  redirectUriOf,
  requiredUpstreamScopes,
  type SharedSignals,
  type SharedSignalsClient,
} from './identity-provider.ts';
import {
  type IdentityProviderEntry,
  type IdentityProviderOptions,
  type PlainProvider,
  providerDefaults,
} from './options.ts';

/** Authorization request parameters that this server sets. */
const RESERVED_PARAMETERS = [
  'client_id', 'redirect_uri', 'response_type', 'response_mode', 'scope', 'user_scope', 'state', 'nonce',
  'code_challenge', 'code_challenge_method', 'request', 'request_uri',
]; // biome-ignore format: one list

/** Pages below `/login/`. */
const RESERVED = ['code', 'passkey', 'cancel', 'forgotten', 'link'];

/** What the rules need to know about the other options. */
interface OtherOptions {
  readonly issuer: string;
  readonly resources: readonly Pick<ResourceDefinition, 'scopes' | 'hierarchy'>[];
  readonly identityProviders: readonly IdentityProviderEntry[];
  readonly localAccounts?: boolean;
}

/** Validates the identity providers and reports every issue. */
export function validateIdentityProviders(
  { issuer, resources, identityProviders, localAccounts = true }: OtherOptions,
  report: OptionReport,
): ReadonlyMap<string, IdentityProvider> {
  const isKnown = areScopesRead(resources, report);
  const scopes = isKnown ? new Set(resources.flatMap((resource) => Object.keys(resource.scopes))) : null;
  const validated = new Map<string, IdentityProvider>();
  for (const [index, entry] of identityProviders.entries()) {
    const path = ['identityProviders', String(index)];
    const options = entry === undefined ? null : completeEntry(entry, path, report);
    if (options === null) continue;
    const add = (member: string, message: string) => report.add([...path, ...member.split('.')], message);
    if (!/^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/.test(options.id)) {
      add('id', 'must be 1 to 32 lowercase letters, digits and hyphens');
    }
    if (RESERVED.includes(options.id)) add('id', `${options.id} is reserved for a page of this server`);
    if (validated.has(options.id)) add('id', `duplicate identity provider ${options.id}`);
    if (report.isUnread(...path, 'clientId')) continue;
    const isUnread = (member: string) => report.isUnread(...path, member);
    const provider = validateProvider(options, { issuer, scopes, path, report, isUnread, add });
    const upstreamScopes = isKnown ? withImplied(provider.upstreamScopes, resources) : {};
    validated.set(options.id, Object.freeze({ ...provider, upstreamScopes }));
  }
  checkSubjects([...validated.values()], report);
  if (!localAccounts && identityProviders.length === 0 && !report.isUnread('identityProviders')) {
    report.add(['localAccounts'], 'must be true unless there is an identity provider to sign in with');
  }
  return validated;
}

/**
 * Users are identified by issuer and subject. Where two providers share an issuer, a subject has to mean the same user at both,
 * or a user of one could sign in as a user of the other.
 */
function checkSubjects(providers: readonly IdentityProvider[], report: OptionReport): void {
  for (const [index, { provider }] of providers.entries()) {
    const other = providers.slice(0, index).find((one) => one.provider.issuer === provider.issuer);
    if (other !== undefined && subjectsOf(other.provider) !== subjectsOf(provider)) {
      report.add(
        ['identityProviders', index, 'kind', 'issuer'],
        `must differ from that of ${other.id}, ${provider.issuer}: their users could not be told apart`,
      );
    }
  }
}

/** A scope requires what the scopes it implies require: otherwise it would bypass them. */
function withImplied(
  upstreamScopes: IdentityProvider['upstreamScopes'],
  resources: OtherOptions['resources'],
): IdentityProvider['upstreamScopes'] {
  const required = (scope: string, hierarchy: ScopeHierarchy): Scopes =>
    [...impliedScopes([scope], hierarchy)].flatMap((implied) =>
      requiredUpstreamScopes(upstreamScopes, implied),
    );
  const entries = resources.flatMap(({ scopes, hierarchy = {} }) =>
    Object.keys(scopes).map((scope): [string, Scopes] => [scope, required(scope, hierarchy)]),
  );
  const merged = new Map<string, ReadonlySet<string>>();
  for (const [scope, needed] of [...Object.entries(upstreamScopes), ...entries]) {
    merged.set(scope, new Set([...(merged.get(scope) ?? []), ...needed]));
  }
  return Object.fromEntries(
    [...merged].flatMap(([scope, all]) => (all.size === 0 ? [] : [[scope, [...all]]])),
  );
}

/** The authority that assigns subjects. */
function subjectsOf(provider: ProviderProtocol): string {
  return provider.protocol === 'openid'
    ? provider.protocol
    : JSON.stringify([provider.endpoints.userinfo, provider.userinfoClaims.subject]);
}

interface ProviderContext {
  readonly issuer: string;
  /** Scopes of all resources; `null`: not known. */
  readonly scopes: ReadonlySet<string> | null;
  readonly path: readonly string[];
  readonly report: OptionReport;
  /** Whether a member could not be read. */
  isUnread(member: string): boolean;
  /** Reports an issue of a member, such as `kind.issuer`. */
  add(member: string, message: string): void;
}

function validateProvider(options: IdentityProviderOptions, context: ProviderContext): IdentityProvider {
  const { issuer, add } = context;
  checkScopes(options, context);
  for (const name of Object.keys(options.parameters ?? {}).filter((one) =>
    RESERVED_PARAMETERS.includes(one),
  )) {
    add('parameters', `${name} is set by this server`);
  }
  const provider = validateKind(options, context);
  if (options.backChannelLogout !== undefined && provider.protocol !== 'openid')
    add('backChannelLogout', 'is for OpenID Connect providers, which sign logout tokens');
  const { kind: _kind, clientSecret = null, status = null, backChannelLogout = null, ...others } = options;
  // A preset may be given a member that is `undefined`.
  const given = Object.fromEntries(Object.entries(others).filter(([, value]) => value !== undefined));
  return Object.freeze<IdentityProvider>({
    ...providerDefaults,
    ...(given as typeof others),
    ...{ clientSecret, status, backChannelLogout, provider },
    ...validateClientAuthentication(options, context),
    redirectUri: redirectUriOf(issuer, options.id),
    sharedSignals: validateSharedSignals(options.sharedSignals, provider, context),
    scim: readProvisioning(options.scim),
  });
}

function validateSharedSignals(
  given: IdentityProviderOptions['sharedSignals'],
  { issuer }: ProviderProtocol,
  context: ProviderContext,
): SharedSignals | null {
  if (given === undefined) return null;
  const { add } = context;
  const { transmitter = issuer, delivery = 'push', token = null, audience = null } = given;
  const client =
    given.client === undefined ? null : validateSignalsClient(given.client, transmitter, context);
  const isManaged = token !== null || client !== null;
  const url = readWebUrl(transmitter);
  if (url === null || !isSecureUrl(url))
    add('sharedSignals.transmitter', 'must be an https URL; http only on loopback');
  if (!isManaged && audience === null)
    add(
      'sharedSignals',
      'needs `token` or `client` to manage the stream, or `audience` of a stream that exists',
    );
  if (delivery === 'poll' && !isManaged) add('sharedSignals.token', 'or `client` is required to poll');
  if (token !== null && client !== null) add('sharedSignals.client', 'must not be combined with token');
  return { transmitter, delivery, token, client, audience };
}

function validateSignalsClient(
  given: NonNullable<NonNullable<IdentityProviderOptions['sharedSignals']>['client']>,
  transmitter: string,
  { add, ...context }: ProviderContext,
): SharedSignalsClient {
  const { clientId, clientSecret, authorizationServer = transmitter } = given;
  const path = [...context.path, 'sharedSignals', 'client'];
  const isUnread = (member: string) => context.report.isUnread(...path, member);
  const addHere = (member: string, message: string) => add(`sharedSignals.client.${member}`, message);
  if (given.authorizationServer !== undefined)
    checkEndpoint(authorizationServer, 'authorizationServer', addHere);
  const authentication = validateClientAuthentication(
    { ...given, kind: { issuer: authorizationServer } },
    { ...context, path, isUnread, add: addHere },
  );
  if (authentication.clientAuthentication === 'none' && !isUnread('clientSecret') && !isUnread('clientKey'))
    addHere('clientSecret', 'or clientKey is required');
  return { clientId, clientSecret: clientSecret ?? null, ...authentication, authorizationServer };
}

function readProvisioning(given: IdentityProviderOptions['scim']): IdentityProvider['scim'] {
  if (given === undefined) return null;
  const { externalId = 'sub', provisionedOnly = false } = given;
  return { externalId, isExternalIdNamed: given.externalId !== undefined, provisionedOnly };
}

function checkScopes(
  { scopes, upstreamScopes = {} }: IdentityProviderOptions,
  context: ProviderContext,
): void {
  for (const scope of scopes.filter((one) => !isScope(one))) {
    context.add('scopes', `invalid scope ${JSON.stringify(scope)}`);
  }
  for (const [ours, theirs] of Object.entries(upstreamScopes)) {
    for (const scope of theirs.filter((one) => !isScope(one))) {
      context.add('upstreamScopes', `invalid scope ${JSON.stringify(scope)}`);
    }
    if (context.scopes?.has(ours) === false) {
      context.add('upstreamScopes', `unknown scope ${JSON.stringify(ours)}; no resource defines it`);
    }
  }
}

type ClientCredential = 'clientSecret' | 'clientKey' | 'clientAuthentication';

/** A method needs its credential, and a credential needs a method that uses it. */
function validateClientAuthentication(
  {
    clientSecret,
    clientKey,
    clientAuthentication,
    kind,
  }: Pick<IdentityProviderEntry, ClientCredential> & Pick<IdentityProviderOptions, 'kind'>,
  { add, isUnread, path, report }: ProviderContext,
): Pick<IdentityProvider, 'clientKey' | 'clientAuthentication'> {
  const by = clientKey !== undefined ? 'key' : clientSecret !== undefined ? 'secret' : 'nothing';
  const usual = { key: 'private_key_jwt', secret: 'client_secret_basic', nothing: 'none' } as const;
  // Without a secret, a method that sends one is ignored.
  const method =
    by === 'nothing' && providerClientAuthentications[clientAuthentication ?? 'none'].credential !== 'key'
      ? 'none'
      : (clientAuthentication ?? usual[by]);
  const isRead = !isUnread('clientSecret') && !isUnread('clientKey') && !isUnread('clientAuthentication');
  if (clientKey !== undefined && clientSecret !== undefined) {
    add('clientKey', 'must not be combined with clientSecret');
  } else if (isRead && providerClientAuthentications[method].credential !== by) {
    add('clientAuthentication', `${method} needs ${by === 'key' ? 'clientSecret' : 'clientKey'}`);
  }
  const { responseFormat = 'standard' } = 'responseFormat' in kind ? kind : {};
  if (clientKey !== undefined && responseFormat !== 'standard') {
    add(
      'clientKey',
      `must be left out: a provider with the response format ${responseFormat} accepts only secrets`,
    );
  }
  const key =
    clientKey === undefined || isUnread('clientKey')
      ? null
      : validateClientKey(clientKey, [...path, 'clientKey'], report);
  return { clientKey: key, clientAuthentication: method };
}

function validateKind(
  options: IdentityProviderOptions,
  { add, isUnread }: ProviderContext,
): ProviderProtocol {
  const kind: Partial<PlainProvider> = options.kind;
  const { issuer, endpoints, userinfoClaims, responseFormat = 'standard' } = kind;
  const isRead = !isUnread('kind');
  if (issuer !== undefined) checkEndpoint(issuer, 'kind.issuer', add);
  if (endpoints === undefined) {
    if (isRead && issuer === undefined)
      add('kind.issuer', 'is required, or endpoints of a plain OAuth 2.0 provider');
    if (isRead && userinfoClaims !== undefined) add('kind.endpoints', 'is required with userinfoClaims');
    if (isRead && !isUnread('scopes') && !options.scopes.includes('openid')) {
      add('scopes', 'must include openid: an OpenID Connect provider identifies users by an ID token');
    }
    return { protocol: 'openid', issuer: issuer ?? '' };
  }
  if (isRead && userinfoClaims === undefined) add('kind.userinfoClaims', 'is required with endpoints');
  for (const [name, url] of Object.entries(endpoints)) checkEndpoint(url, `kind.endpoints.${name}`, add);
  if (isRead && options.status === 'introspection' && endpoints.introspection === undefined) {
    add('status', 'introspection needs kind.endpoints.introspection');
  }
  return {
    protocol: 'oauth',
    issuer: issuer ?? URL.parse(endpoints.authorization)?.origin ?? '',
    sendsIssuer: issuer !== undefined,
    endpoints,
    userinfoClaims: userinfoClaims ?? { subject: '' },
    responseFormat,
  };
}

/** Tokens are sent there: https, or http on loopback. */
function checkEndpoint(value: unknown, member: string, add: ProviderContext['add']): void {
  if (typeof value !== 'string') return;
  const url = readWebUrl(value);
  if (url === null || !isSecureUrl(url) || url.hash !== '') {
    add(member, `must be an https URL, not ${JSON.stringify(value)}`);
  }
}
