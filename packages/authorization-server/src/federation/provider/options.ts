/** What an operator says of a third party: plain data, as it stands in a configuration file. */
import type { Scopes } from '@portcullis/protocol';
import type { ClientKeyOptions } from './client-key.ts';

/** An authorization server of somebody else, by whose accounts people sign in here, and whose tokens grants here rest on. */
export interface IdentityProviderOptions {
  /** Stands in addresses of this server: lowercase letters, digits and hyphens. The redirect URI to register there is `<origin of the issuer>/callback/<id>`. */
  readonly id: string;
  /** What people call it. */
  readonly name: string;
  /** What this server is called there. */
  readonly clientId: string;
  /** Without one, and without a key: a public client there. */
  readonly clientSecret?: string;
  /** In the place of a secret: a key that never leaves this server. */
  readonly clientKey?: ClientKeyOptions;
  /**
   * How the secret is sent, or what is signed by the key: `client_secret_basic`, with a key `private_key_jwt`, when left out.
   * `signed_secret`: the client secret is an assertion, as Apple wants it.
   */
  readonly clientAuthentication?:
    | 'client_secret_basic'
    | 'client_secret_post'
    | 'private_key_jwt'
    | 'signed_secret';
  /** How it answers: by `form_post` where it does not answer by `query`, which is what is asked for when left out. */
  readonly responseMode?: 'query' | 'form_post';
  /** What everybody is asked for there; `openid` has to be among them for a provider of OpenID Connect. */
  readonly scopes: Scopes;
  /**
   * Which of their scopes a scope of ours rests on: `{ 'repositories:write': ['repo'] }`. They are asked for there when a client
   * asks for ours here, and ours is never given, or taken away at the next token, when theirs is not granted. What a scope implies counts as well.
   */
  readonly upstreamScopes?: Readonly<Record<string, Scopes>>;
  /** How it is found and spoken to. */
  readonly kind: OpenIdProvider | PlainProvider;
  /** More parameters of the authorization request there, such as `{ "prompt": "select_account" }`. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Who may sign in; anybody whom the third party lets in, when left out. */
  readonly allowedUsers?: AllowedUsers;
  /** How the status of their token is learnt; the best way that the third party has, when left out. */
  readonly status?: StatusMethod;
  /** Seconds within which it is noticed that the third party has ended what it gave; 60 when left out. */
  readonly statusCheckInterval?: number;
  /** What revoking one token there ends: that token's grant alone, or everything of that person and this server. */
  readonly revocationEnds?: 'grant' | 'everything';
}

/** A provider of OpenID Connect, found by its issuer identifier. */
export interface OpenIdProvider {
  readonly issuer: string;
}

/** A provider of plain OAuth 2.0. */
export interface PlainProvider {
  readonly endpoints: {
    readonly authorization: string;
    readonly token: string;
    /** Answers JSON that says who the bearer of a token is. */
    readonly userinfo: string;
    /** RFC 7662. */
    readonly introspection?: string;
    /** RFC 7009. */
    readonly revocation?: string;
  };
  readonly userinfoClaims: UserinfoClaims;
  /** Its issuer identifier, when it sends `iss` with authorization responses (RFC 9207) or has one; its origin when left out. */
  readonly issuer?: string;
  /** How its answers differ from the standard; `standard` when left out. */
  readonly responseFormat?: 'standard' | 'github' | 'slack';
}

/** Where in the answer of `userinfo` it stands who somebody is. Members of members are written with dots. */
export interface UserinfoClaims {
  /** What never changes and is never given to anybody else: a number or a text. Never a name or an address. */
  readonly subject: string;
  /** What people are called there. */
  readonly name?: string;
}

/** Everything that is said must hold. */
export interface AllowedUsers {
  /** Subjects. */
  readonly subjects?: readonly string[];
  /** Domains of addresses that the third party has verified. */
  readonly emailDomains?: readonly string[];
  /** Claims, or members of the answer of `userinfo`, and the values of which each must have one: `{ "hd": ["example.org"] }`. */
  readonly claims?: Readonly<Record<string, readonly string[]>>;
}

/** `introspection`: RFC 7662. `userinfo`: asking who the bearer is. `expiry`: only when the token expires or is renewed. */
export type StatusMethod = 'introspection' | 'userinfo' | 'expiry';
