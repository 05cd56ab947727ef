/** Registration settings: preregistered clients, the client metadata document, and what dynamic registration sends. */
import type { ClientAuthenticationMethod } from '@portcullis/protocol';
import type { ClientSigningKey } from '../signing-key.ts';

/** A client that was registered in advance. */
export interface PreregisteredClient {
  /** The issuer that it is registered with. Without it, the client is bound to the first issuer it is used with at a server. */
  readonly issuer?: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  /** For `private_key_jwt`. */
  readonly signingKey?: ClientSigningKey;
  readonly authentication?: ClientAuthenticationMethod;
  /** The registered redirect URIs, where they are fixed. */
  readonly redirectUris?: readonly string[];
}

/** What a user needs to register this client manually. */
export interface ManualRegistration {
  readonly issuer: string;
  readonly server: string;
  /** Exactly these have to be registered. */
  readonly redirectUris: readonly string[];
  readonly grantTypes: readonly string[];
  readonly applicationType: 'native' | 'web';
  /** Methods supported by the authorization server; a public client (`none`) is sufficient. */
  readonly authenticationMethods: readonly string[];
}

/** The client that the user registered. */
export interface RegistrationReply {
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** How the client obtains its identifier at an issuer. */
export interface RegistrationSettings {
  readonly preregistered?: readonly PreregisteredClient[];
  /** An https URL with a path that serves this client's metadata document. It is the client identifier. */
  readonly metadataDocumentUrl?: string;
  /** The private key for a metadata document with public keys: authenticates the client where servers support it. */
  readonly metadataDocumentKey?: ClientSigningKey;
  /** Shown to users on the consent page; a function is called when the client registers. */
  readonly clientName?: string | (() => string);
  readonly clientUri?: string;
  readonly softwareId?: string;
  readonly softwareVersion?: string;
  /** Asks the user when no other method is available. `null`: the user declines. */
  readonly ask?: (request: ManualRegistration) => Promise<RegistrationReply | null>;
}

/** The configured client for an issuer; with an identifier, the one that has it. */
export function configuredClientAt(
  { preregistered = [] }: RegistrationSettings,
  issuer: string,
  clientId?: string,
): PreregisteredClient | null {
  const isWanted = (client: PreregisteredClient): boolean =>
    (client.issuer === undefined || client.issuer === issuer) &&
    (clientId === undefined || client.clientId === clientId);
  return preregistered.find(isWanted) ?? null;
}

/** The signing key of a configured client at an issuer; `null` when it has none. */
export function signingKeyFor(
  settings: RegistrationSettings,
  clientId: string,
  issuer: string,
): ClientSigningKey | null {
  if (clientId === settings.metadataDocumentUrl) return settings.metadataDocumentKey ?? null;
  return configuredClientAt(settings, issuer, clientId)?.signingKey ?? null;
}
