/** A validated identity provider, and the scopes of ours that depend on its scopes. */
import type { Scopes } from '@portcullis/protocol';
import type { ClientPolicyOptions } from '../../clients/options.ts';
import type { ServerContext } from '../../context.ts';
import type { ProviderTokensRecord } from '../../store/index.ts';
import type { UserOptions } from '../../users/options.ts';
import type { ProviderClientAuthentication } from './client-authentication.ts';
import type { ProviderClientKey } from './client-key.ts';
import type { IdentityProviderOptions, PlainProvider, StatusMethod, UserinfoClaims } from './options.ts';

/** Options that are validated and read, and not as they were given. */
type ReadOption =
  | 'kind'
  | 'clientKey'
  | 'clientSecret'
  | 'status'
  | 'backChannelLogout'
  | 'sharedSignals'
  | 'scim'
  | 'clientAuthentication';

export interface IdentityProvider extends Required<Omit<IdentityProviderOptions, ReadOption>> {
  readonly clientSecret: string | null;
  readonly clientKey: ProviderClientKey | null;
  /** `none`: a public client. */
  readonly clientAuthentication: ProviderClientAuthentication;
  /** Each provider has a redirect URI of its own, so that none can respond for another (mix-up attack). @see RFC 9700 §4.4.2.2 */
  readonly redirectUri: string;
  readonly provider: ProviderProtocol;
  /** `null`: the best method that the provider supports. */
  readonly status: StatusMethod | null;
  /** What a logout at the provider ends here; `null`: it is not reported. */
  readonly backChannelLogout: 'sessions' | 'everything' | null;
  /** How its security events arrive; `null`: they do not. */
  readonly sharedSignals: SharedSignals | null;
  /** How it provisions users by SCIM; `null`: it does not. */
  readonly scim: {
    /** The claim that equals `externalId`. */
    readonly externalId: string;
    /** Whether the operator named it: users with another identifier are other users, even at the same address. */
    readonly isExternalIdNamed: boolean;
    readonly provisionedOnly: boolean;
  } | null;
}

/** How security events of an identity provider arrive. */
export interface SharedSignals {
  /** The issuer of the transmitter. */
  readonly transmitter: string;
  readonly delivery: 'push' | 'poll';
  /** For stream management. */
  readonly token: string | null;
  /** Obtains tokens for stream management. Neither this nor a token: the stream was set up at the provider. */
  readonly client: SharedSignalsClient | null;
  /** `null`: what the transmitter assigns. */
  readonly audience: readonly string[] | null;
}

/** Our client at the authorization server of a transmitter. */
export interface SharedSignalsClient
  extends Pick<IdentityProvider, 'clientId' | 'clientSecret' | 'clientKey' | 'clientAuthentication'> {
  /** Its issuer. */
  readonly authorizationServer: string;
}

export type ProviderProtocol =
  | { readonly protocol: 'openid'; readonly issuer: string }
  | {
      readonly protocol: 'oauth';
      readonly issuer: string;
      /** Whether its issuer identifier is configured: then `iss` in its responses is compared (RFC 9207). */
      readonly sendsIssuer: boolean;
      readonly endpoints: PlainProvider['endpoints'];
      readonly userinfoClaims: UserinfoClaims;
      readonly responseFormat: NonNullable<PlainProvider['responseFormat']>;
    };

/**
 * The identity provider that issued the tokens of a record; `undefined`: it is no longer configured. With another issuer it is
 * another provider, which must never receive them.
 */
export function findTokenIssuer(
  identityProviders: ReadonlyMap<string, IdentityProvider>,
  { identityProvider, issuer }: Pick<ProviderTokensRecord, 'identityProvider' | 'issuer'>,
): IdentityProvider | undefined {
  const found = identityProviders.get(identityProvider);
  return found?.provider.issuer === issuer ? found : undefined;
}

/** The redirect URI of this server at an identity provider, to be registered there. @param id of the provider in the configuration */
export function redirectUriOf(issuer: string, id: string): string {
  return `${URL.parse(issuer)?.origin ?? issuer}/callback/${id}`;
}

/**
 * Entra documents a single value of `prompt`, and answers a list with AADSTS90023.
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc#send-the-sign-in-request
 */
const WITH_ONE_PROMPT =
  /^https:\/\/(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn)\//;

/** The `prompt` with which users sign in again: added to the configured values. @see OpenID Connect Core 1.0 §3.1.2.1 */
export function promptForLogin({
  parameters,
  loginPrompt,
  provider,
}: Pick<IdentityProvider, 'parameters' | 'loginPrompt' | 'provider'>): string {
  if (WITH_ONE_PROMPT.test(provider.issuer)) return loginPrompt;
  const configured = (parameters['prompt'] ?? '').split(' ');
  // `none` MUST NOT be combined with another value.
  return [...new Set([loginPrompt, ...configured])].filter((one) => one !== '' && one !== 'none').join(' ');
}

/** The scopes to request at the provider if the user approved these scopes of ours: its general ones, and those that ours require. */
export function upstreamScopesFor({ scopes, upstreamScopes }: IdentityProvider, approved: Scopes): Scopes {
  return [
    ...new Set([...scopes, ...approved.flatMap((scope) => requiredUpstreamScopes(upstreamScopes, scope))]),
  ];
}

/** Our scopes that are covered by those granted at the provider: ours MUST NOT exceed them. @see seed 4.5(3) */
export function coveredScopes({ upstreamScopes }: IdentityProvider, scopes: Scopes, granted: Scopes): Scopes {
  return scopes.filter((scope) =>
    requiredUpstreamScopes(upstreamScopes, scope).every((needed) => granted.includes(needed)),
  );
}

/** The scopes of the provider that a scope of ours requires. */
export function requiredUpstreamScopes(
  upstreamScopes: IdentityProvider['upstreamScopes'],
  scope: string,
): Scopes {
  return Object.hasOwn(upstreamScopes, scope) ? (upstreamScopes[scope] ?? []) : [];
}

/** The options that federation reads. */
export interface FederationOptions extends Pick<ClientPolicyOptions, 'outbound'>, UserOptions {
  /** By their identifiers. */
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>;
}

export type FederationContext = ServerContext<FederationOptions>;
