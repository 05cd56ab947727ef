/** Options of an identity provider: plain data, as in the configuration file. */
import type { Scopes } from '@portcullis/protocol';
import type { ClientKeyOptions } from './client-key.ts';

/** An external authorization server with which users sign in, and on whose tokens their grants depend. */
export interface IdentityProviderOptions {
  /** Part of URLs of this server: lowercase letters, digits and hyphens. Register the redirect URI `<origin of the issuer>/callback/<id>` with the provider. */
  readonly id: string;
  /** Display name. */
  readonly name: string;
  /** Client identifier of this server at the provider. */
  readonly clientId: string;
  /** Without a secret or key, this server is a public client. */
  readonly clientSecret?: string;
  /** Private key for client authentication, instead of a secret. */
  readonly clientKey?: ClientKeyOptions;
  /**
   * Client authentication method. Default: `client_secret_basic`, with a key `private_key_jwt`.
   * `signed_secret`: the client secret is a signed assertion, as Apple requires.
   */
  readonly clientAuthentication?:
    | 'client_secret_basic'
    | 'client_secret_post'
    | 'private_key_jwt'
    | 'signed_secret';
  /** Response mode of the authorization response. Default: `query`. */
  readonly responseMode?: 'query' | 'form_post';
  /** Scopes of every login; must include `openid` for OpenID Connect. */
  readonly scopes: Scopes;
  /**
   * Provider scopes that a scope of this server requires: `{ 'repositories:write': ['repo'] }`. They are requested when a client
   * requests the scope here. Without them the scope is not granted, or is dropped from the next token. Implied scopes count as well.
   */
  readonly upstreamScopes?: Readonly<Record<string, Scopes>>;
  /** OpenID Connect by discovery, or plain OAuth 2.0 with explicit endpoints. */
  readonly kind: OpenIdProvider | PlainProvider;
  /** Additional authorization request parameters, such as `{ "prompt": "select_account" }`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Users that may sign in. Default: every user of the provider. */
  readonly allowedUsers?: AllowedUsers;
  /** Where the provider's claims hold what servers may ask for about the user. Default: `email` if verified, and `name`; no groups. */
  readonly userClaims?: UserClaimNames;
  /** Values of `acr` and `amr` that mean a sign-in with two factors. Default: none; each of its logins is one factor. */
  readonly twoFactorValues?: readonly string[];
  /** How the status of provider tokens is checked. Default: the best method that the provider supports. */
  readonly status?: StatusMethod;
  /** Seconds within which a revocation at the provider takes effect here. Default: 60. */
  readonly statusCheckInterval?: number;
  /** What revoking one token at the provider revokes: only that grant, or everything the user granted this server. */
  readonly revocationEnds?: 'grant' | 'everything';
}

/** An OpenID provider, discovered by its issuer identifier. */
export interface OpenIdProvider {
  readonly issuer: string;
}

/** A plain OAuth 2.0 provider. */
export interface PlainProvider {
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    /** Returns the claims of the token's user as JSON. */
    readonly userinfo: string;
    /** RFC 7662. */
    readonly introspection?: string;
    /** RFC 7009. */
    readonly revocation?: string;
  };
  readonly userinfoClaims: UserinfoClaims;
  /** Issuer identifier, needed if authorization responses contain `iss` (RFC 9207). Default: the origin of the authorization endpoint. */
  readonly issuer?: string;
  /** How responses differ from the standard. Default: `standard`. */
  readonly responseFormat?: 'standard' | 'github' | 'slack';
}

/** Members of the userinfo response that identify the user. Nested members are written with dots. */
export interface UserinfoClaims {
  /** A stable identifier that is never reassigned, a number or a string; never a name or an email address. */
  readonly subject: string;
  /** Display name. */
  readonly name?: string;
}

/** Members of the ID token or the userinfo response. Nested members are written with dots. */
export interface UserClaimNames {
  /** Display name. Default: `name`. */
  readonly name?: string;
  /** A list of groups or roles, such as `groups` or `realm_access.roles`. Default: none. */
  readonly groups?: string;
}

/** All conditions must hold. */
export interface AllowedUsers {
  /** Subjects. */
  readonly subjects?: readonly string[];
  /** Domains of email addresses that the provider has verified. */
  readonly emailDomains?: readonly string[];
  /** Allowed values of claims or userinfo members: `{ "hd": ["example.org"] }`. */
  readonly claims?: Readonly<Record<string, readonly string[]>>;
}

/** `introspection`: RFC 7662. `userinfo`: a userinfo request. `expiry`: only when the token expires or is refreshed. */
export type StatusMethod = 'introspection' | 'userinfo' | 'expiry';
