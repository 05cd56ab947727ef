/** What a client is to one authorization server: its identifier, how it proves itself, and where answers may be sent. */
import type { ClientAuthenticationMethod, RegistrationMethod } from '@portcullis/protocol';
import type { ClientSigningKey } from '../signing-key.ts';

/** A client identity at one issuer. It is never shown to another. */
export interface Registration {
  readonly method: RegistrationMethod;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly authentication: ClientAuthenticationMethod;
  /** Redirect URIs that are registered; empty when that is not known. */
  readonly redirectUris: readonly string[];
  /** Epoch seconds; `null`: the secret does not expire. */
  readonly secretExpiresAt: number | null;
  /** Where it may be read, and with which token. @see RFC 7592 §3 */
  readonly management?: RegistrationManagement;
}

/** Access to a registration of one's own. */
export interface RegistrationManagement {
  readonly uri: string;
  /** Secret. */
  readonly token: string;
}

/** A client that somebody registered beforehand. */
export interface PreregisteredClient {
  /** The issuer that it is registered with. Without it, the first one that is met is kept to. */
  readonly issuer?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** For `private_key_jwt`. */
  readonly signingKey?: ClientSigningKey;
  readonly authentication?: ClientAuthenticationMethod;
  /** The redirect URIs that are registered, where they are fixed. */
  readonly redirectUris?: readonly string[];
}

/** What a person has to know to register this client by hand. */
export interface RegistrationQuestion {
  readonly issuer: string;
  readonly server: string;
  /** Exactly these are to be registered. */
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly applicationType: 'native' | 'web';
  /** Methods that the authorization server lists; a public client (`none`) is enough. */
  readonly authenticationMethods: readonly string[];
}

/** What the person answers. */
export interface RegistrationReply {
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** Settings by which a client identity is found. */
export interface RegistrationSettings {
  readonly preregistered?: readonly PreregisteredClient[];
  /** An https URL with a path, at which this client's metadata document is. It is the client identifier. */
  readonly metadataDocumentUrl?: string;
  /** For a document that names public keys: what the client proves itself with, where servers take it. */
  readonly metadataDocumentKey?: ClientSigningKey;
  /** Shown to people at registration. */
  readonly clientName?: string;
  readonly clientUri?: string;
  readonly softwareId?: string;
  readonly softwareVersion?: string;
  /** Asks a person when no other way is left. `null`: the person declines. */
  readonly ask?: (question: RegistrationQuestion) => Promise<RegistrationReply | null>;
}

/** The configured client with that identifier. */
export function configuredClient(
  { preregistered = [] }: RegistrationSettings,
  clientId: string,
): PreregisteredClient | null {
  return preregistered.find((client) => client.clientId === clientId) ?? null;
}

/** The key by which a configured client proves itself; `null` when it has none. */
export function signingKeyFor(settings: RegistrationSettings, clientId: string): ClientSigningKey | null {
  if (clientId === settings.metadataDocumentUrl) return settings.metadataDocumentKey ?? null;
  return configuredClient(settings, clientId)?.signingKey ?? null;
}
