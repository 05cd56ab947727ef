/** What is stored for one protected server: the client registration, the tokens, and authorizations that are still pending. */
import type { ClientAuthenticationMethod, Profile, RegistrationMethod, Scopes } from '@portcullis/protocol';
import type { PrivateEcJwk } from '../signing-key.ts';

/** A client identity at one issuer. It is never shown to another issuer. */
export interface Registration {
  /** How the client was registered. */
  readonly method: RegistrationMethod;
  /** The `client_id`. */
  readonly clientId: string;
  /** The client secret; `null` when there is none. */
  readonly clientSecret: string | null;
  /** Client authentication method at the token endpoint. @see RFC 7591 §2 */
  readonly authentication: ClientAuthenticationMethod;
  /** Registered redirect URIs; empty when they are unknown. */
  readonly redirectUris: readonly string[];
  /** Epoch seconds; `null`: the secret does not expire. */
  readonly secretExpiresAt: number | null;
  /** Client configuration endpoint of a dynamic registration. @see RFC 7592 §3 */
  readonly management?: RegistrationManagement;
}

/** Access to the client's own registration. */
export interface RegistrationManagement {
  readonly uri: string;
  /** Registration access token: secret. */
  readonly token: string;
}

/** The tokens of one session. */
export interface Tokens {
  readonly accessToken: string;
  /** How the access token is sent. @see RFC 6750 §2.1, RFC 9449 §7.1 */
  readonly scheme: 'Bearer' | 'DPoP';
  /** Epoch milliseconds; `null`: the server did not say. */
  readonly expiresAt: number | null;
  /** Epoch milliseconds. */
  readonly obtainedAt: number;
  readonly refreshToken: string | null;
  /** Granted scopes as reported by the server, else the requested ones. */
  readonly scopes: Scopes;
  /** Everything requested in this session so far: a step-up adds to it. */
  readonly requestedScopes: Scopes;
  readonly resource: string | null;
  /** The endpoint that issued the tokens, and the only one their refresh token is sent to. */
  readonly tokenEndpoint: string;
  /** The client that obtained them. */
  readonly clientId: string;
  /** That client, where a later sign-in has replaced it in the record: it refreshes and revokes these tokens. */
  readonly registration?: Registration;
  /** Private key that the access token is bound to. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** An authorization request that waits for its response, with everything the response is validated against. */
export interface PendingAuthorization {
  /** The `state` parameter. @see RFC 6749 §4.1.1 */
  readonly state: string;
  /** The PKCE code verifier: secret. @see RFC 7636 §4.1 */
  readonly codeVerifier: string;
  /** Canonical URL of the protected server. */
  readonly server: string;
  /** The account to store the credentials under. */
  readonly account: string;
  /** The validated issuer. */
  readonly issuer: string;
  /** The issuer in the response, where it is not `issuer`. @see RFC 9207 §2.4 */
  readonly responseIssuer?: string;
  /** Whether the metadata announces `iss` in authorization responses. @see RFC 9207 §3 */
  readonly issuerAdvertised: boolean;
  /** How the revision validates `iss`. */
  readonly issuerRule: Profile['responseIssuer'];
  /** The token endpoint that redeems the code. */
  readonly tokenEndpoint: string;
  /** The client that sent the request. */
  readonly registration: Registration;
  /** The redirect URI of the request. */
  readonly redirectUri: string;
  /** The resource indicator; `null` when none was sent. @see RFC 8707 §2 */
  readonly resource: string | null;
  /** The requested scopes. */
  readonly scopes: Scopes;
  /** The key to bind the token to; `null`: a bearer token. @see RFC 9449 §5 */
  readonly dpopKey: PrivateEcJwk | null;
  /** Whether a bearer token is refused: the protected server accepts bound tokens only. @see RFC 9728 §2 */
  readonly requiresDpop?: boolean;
  /** What the response must be presented with on a host with several users, for example the session of the user. */
  readonly binding: string | null;
  /** Epoch milliseconds; a later response is rejected. */
  readonly expiresAt: number;
}

/** On whose behalf a session acts: a user who signed in, or a program with its own credentials. */
type SessionKind = 'user' | 'application' | 'workload' | 'enterprise';

/**
 * Credentials belong to one server, one issuer, one account, and one actor: the user, or one client acting for itself.
 * No other combination can read them.
 */
export interface CredentialKey {
  /** Canonical URL of the protected server. */
  readonly server: string;
  /** Issuer identifier of the authorization server. */
  readonly issuer: string;
  /** Name chosen by the user; `default` where there is only one. */
  readonly account: string;
  /** On whose behalf the session acts. */
  readonly kind: SessionKind;
  /** The client that acts for itself; a user's credentials have none, whichever client was used to sign in. */
  readonly clientId?: string;
}

/** Everything stored under one key. */
export interface CredentialRecord {
  /** What the credentials belong to. */
  readonly key: CredentialKey;
  /** Dynamic registrations and those typed in by a user; configured clients stay in the configuration. */
  readonly registration: Registration | null;
  /** Identifiers of configured clients that were used at this issuer before `registration` replaced them. */
  readonly replacedClients?: readonly string[];
  /** The tokens of the session; `null`: there is none. */
  readonly tokens: Tokens | null;
  /** Epoch milliseconds at which the session began; `null` without a session. */
  readonly since: number | null;
  /** Binds a program's tokens to the credential they were obtained with; a user's tokens have none. */
  readonly credentialFingerprint?: string;
}
