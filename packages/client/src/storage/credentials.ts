/** What is stored for one protected server: the client registration, the tokens, and authorizations that are still pending. */
import type { ClientAuthenticationMethod, Profile, RegistrationMethod, Scopes } from '@portcullis/protocol';
import type { PrivateEcJwk } from '../signing-key.ts';

/** A client identity at one issuer. It is never shown to another issuer. */
export interface Registration {
  readonly method: RegistrationMethod;
  readonly clientId: string;
  readonly clientSecret: string | null;
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
  readonly clientId: string;
  /** Private key that the access token is bound to. */
  readonly dpopKey: PrivateEcJwk | null;
}

/** An authorization request that waits for its response, with everything the response is validated against. */
export interface PendingAuthorization {
  readonly state: string;
  readonly codeVerifier: string;
  readonly server: string;
  readonly account: string;
  /** The validated issuer. */
  readonly issuer: string;
  readonly issuerAdvertised: boolean;
  readonly issuerRule: Profile['responseIssuer'];
  readonly tokenEndpoint: string;
  readonly registration: Registration;
  readonly redirectUri: string;
  readonly resource: string | null;
  readonly scopes: Scopes;
  readonly dpopKey: PrivateEcJwk | null;
  /** What the response must be presented with on a host with several users, for example the session of the user. */
  readonly binding: string | null;
  /** Epoch milliseconds; a later response is rejected. */
  readonly expiresAt: number;
}

/** On whose behalf a session acts: a user who signed in, or a program with its own credentials. */
export type SessionKind = 'user' | 'application' | 'workload' | 'enterprise';

/**
 * Credentials belong to one server, one issuer, one account, and one actor: the user, or one client acting for itself.
 * No other combination can read them.
 */
export interface CredentialKey {
  /** Canonical URL of the protected server. */
  readonly server: string;
  readonly issuer: string;
  /** Name chosen by the user; `default` where there is only one. */
  readonly account: string;
  readonly kind: SessionKind;
  /** The client that acts for itself; a user's credentials have none, whichever client was used to sign in. */
  readonly clientId?: string;
}

/** Everything stored under one key. */
export interface CredentialRecord {
  readonly key: CredentialKey;
  /** Dynamic registrations and those typed in by a user; configured clients stay in the configuration. */
  readonly registration: Registration | null;
  readonly tokens: Tokens | null;
  /** Epoch milliseconds at which the session began; `null` without a session. */
  readonly since: number | null;
  /** Binds a program's tokens to the credential they were obtained with; a user's tokens have none. */
  readonly credentialFingerprint?: string;
}
