/** How the client gets its identity at an issuer: the ways of the profile in order, each an entry in a table. */
import type { RegistrationMethod } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import { sendRequest, type Transport } from '../transport.ts';
import { chooseMethod } from './authentication-method.ts';
import { applicationType, processRegistrationResponse, registrationRequest } from './dynamic.ts';
import type { PreregisteredClient, Registration, RegistrationSettings } from './registration.ts';

/** What a way works with. */
export interface RegistrationContext {
  readonly transport: Transport;
  readonly settings: RegistrationSettings;
  readonly discovery: DiscoveryResult;
  /** Where the answer of the coming request will be received. */
  readonly redirectUris: readonly string[];
}

/** `null`: this way is not open here. */
type RegisterBy = (situation: RegistrationContext) => Promise<Registration | null>;

const WAYS: Readonly<Record<RegistrationMethod, RegisterBy>> = {
  preregistered: async ({ settings, discovery }) => findPreregistered(settings, discovery),
  'metadata-document': async ({ settings, discovery }) => metadataDocumentRegistration(settings, discovery),
  dynamic: registerIfOffered,
  'ask-user': askUser,
};

/**
 * Gets an identity by the first way that is open.
 * @throws ClientError `registration_needed` when none is, saying what to register.
 */
export async function register(situation: RegistrationContext): Promise<Registration> {
  for (const way of situation.discovery.profile.registration) {
    const registration = await WAYS[way](situation);
    if (registration !== null) return registration;
  }
  throw new ClientError('registration_needed', registrationInstructions(situation));
}

/**
 * The configured client of an issuer.
 * @throws ClientError `registration_issuer_mismatch` when all configured ones belong to other issuers and nothing else
 * could be meant by them.
 */
export function findPreregistered(
  settings: RegistrationSettings,
  discovery: DiscoveryResult,
): Registration | null {
  const configured = settings.preregistered ?? [];
  const client = configured.find(({ issuer }) => issuer === undefined || issuer === discovery.issuer);
  if (client !== undefined) return registrationOf(client, discovery);
  if (configured.length === 0) return null;
  throw new ClientError(
    'registration_issuer_mismatch',
    `The configured client is registered with ${configured.map(({ issuer }) => issuer).join(', ')}, ` +
      `but the server now names ${sanitizeText(discovery.issuer)}. It was not sent there.`,
  );
}

function registrationOf(client: PreregisteredClient, { metadata }: DiscoveryResult): Registration {
  const authentication = chooseMethod({
    registered: client.authentication,
    hasSecret: client.clientSecret !== undefined,
    hasKey: client.signingKey !== undefined,
    listed: metadata.token_endpoint_auth_methods_supported,
  });
  return {
    method: 'preregistered',
    clientId: client.clientId,
    clientSecret: client.clientSecret ?? null,
    authentication: authentication ?? 'none',
    redirectUris: client.redirectUris ?? [],
    secretExpiresAt: null,
  };
}

/** The identity of a metadata document; `null` where the server does not say that it understands one. */
export function metadataDocumentRegistration(
  settings: RegistrationSettings,
  discovery: DiscoveryResult,
): Registration | null {
  const url = settings.metadataDocumentUrl;
  if (url === undefined || discovery.metadata.client_id_metadata_document_supported !== true) return null;
  const authentication = chooseMethod({
    hasSecret: false,
    hasKey: settings.metadataDocumentKey !== undefined,
    listed: discovery.metadata.token_endpoint_auth_methods_supported,
  });
  return {
    method: 'metadata-document',
    clientId: url,
    clientSecret: null,
    authentication: authentication ?? 'none',
    redirectUris: [],
    secretExpiresAt: null,
  };
}

async function registerIfOffered({
  transport,
  settings,
  discovery,
  redirectUris,
}: RegistrationContext): Promise<Registration | null> {
  const ask = registrationRequest(discovery, settings, redirectUris);
  return ask === null ? null : processRegistrationResponse(ask, await sendRequest(transport, ask));
}

async function askUser({
  settings,
  discovery,
  redirectUris,
}: RegistrationContext): Promise<Registration | null> {
  if (settings.ask === undefined) return null;
  const listed = discovery.metadata.token_endpoint_auth_methods_supported;
  const reply = await settings.ask({
    issuer: discovery.issuer,
    server: discovery.server,
    redirectUris,
    grantTypes: ['authorization_code', 'refresh_token'],
    applicationType: applicationType(redirectUris),
    authenticationMethods: listed ?? ['client_secret_basic'],
  });
  if (reply === null) return null;
  const hasSecret = reply.clientSecret !== undefined && reply.clientSecret !== '';
  return {
    method: 'ask-user',
    clientId: reply.clientId,
    clientSecret: hasSecret ? (reply.clientSecret ?? null) : null,
    authentication: chooseMethod({ hasSecret, hasKey: false, listed }) ?? 'none',
    redirectUris,
    secretExpiresAt: null,
  };
}

function registrationInstructions({ discovery, redirectUris }: RegistrationContext): string {
  return (
    `${sanitizeText(discovery.issuer)} does not let clients register themselves. Register one there by hand ` +
    `(${applicationType(redirectUris)} application, authorization code with PKCE and refresh token, ` +
    `redirect URI ${redirectUris.join(' and ')}) and configure its client ID.`
  );
}
