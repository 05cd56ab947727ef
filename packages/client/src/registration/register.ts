/** Registration: how the client obtains its identifier at an issuer, by the methods of the revision in order. */
import { isLoopbackHost, type RegistrationMethod } from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { Registration } from '../storage/credentials.ts';
import { sendRequest, type Transport } from '../transport.ts';
import { chooseMethod } from './authentication-method.ts';
import { applicationType, processRegistrationResponse, registrationRequest } from './dynamic-registration.ts';
import { configuredClientAt, type PreregisteredClient, type RegistrationSettings } from './registration.ts';

/** Input of a registration method. */
export interface RegistrationInput {
  readonly transport: Transport;
  readonly settings: RegistrationSettings;
  readonly discovery: DiscoveryResult;
  /** Where the redirect of the coming request will be received. */
  readonly redirectUris: readonly string[];
}

/** `null`: this method is not available. */
type RegisterByMethod = (input: RegistrationInput) => Promise<Registration | null>;

const METHODS: Readonly<Record<RegistrationMethod, RegisterByMethod>> = {
  preregistered: async ({ settings, discovery }) => findPreregistered(settings, discovery),
  'metadata-document': async ({ settings, discovery }) => metadataDocumentRegistration(settings, discovery),
  dynamic: registerDynamically,
  'ask-user': askUser,
};

/**
 * Registers by the first available method.
 * @throws ClientError `registration_needed` when there is none, with instructions for a manual registration.
 */
export async function register(input: RegistrationInput): Promise<Registration> {
  for (const method of input.discovery.profile.registration) {
    const registration = await METHODS[method](input);
    if (registration !== null) return registration;
  }
  throw new ClientError('registration_needed', registrationInstructions(input));
}

/**
 * The pre-registered client of an issuer; `null` when no client is configured.
 * @throws ClientError `registration_issuer_mismatch` when all configured clients belong to other issuers.
 * @see RFC 6749 §2.2
 */
export function findPreregistered(
  settings: RegistrationSettings,
  discovery: DiscoveryResult,
): Registration | null {
  const configured = settings.preregistered ?? [];
  const client = configuredClientAt(settings, discovery.issuer);
  if (client !== null) return preregistration(client, discovery);
  if (configured.length === 0) return null;
  throw new ClientError(
    'registration_issuer_mismatch',
    `The configured client is registered with ${configured.map(({ issuer }) => issuer).join(', ')}, ` +
      `but the server now names ${sanitizeText(discovery.issuer)}. It was not sent there.`,
  );
}

/** A client with a secret MUST authenticate, even if the metadata lists only `none`. @see RFC 6749 §3.2.1 */
function preregistration(client: PreregisteredClient, { metadata }: DiscoveryResult): Registration {
  const authentication = chooseMethod({
    registered: client.authentication,
    hasSecret: client.clientSecret !== undefined,
    hasKey: client.signingKey !== undefined,
    listed: metadata.token_endpoint_auth_methods_supported?.filter((method) => method !== 'none'),
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

/**
 * The identity of a client metadata document; `null` where none is configured or the server does not announce support for it.
 * @see draft-ietf-oauth-client-id-metadata-document
 */
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

async function registerDynamically({
  transport,
  settings,
  discovery,
  redirectUris,
}: RegistrationInput): Promise<Registration | null> {
  const request = registrationRequest(discovery, settings, redirectUris);
  if (request === null) return null;
  return processRegistrationResponse(request, await sendRequest(transport, request));
}

async function askUser({
  settings,
  discovery,
  redirectUris,
}: RegistrationInput): Promise<Registration | null> {
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

function registrationInstructions({ discovery, redirectUris }: RegistrationInput): string {
  return (
    `${sanitizeText(discovery.issuer)} does not support dynamic client registration. Register a client there manually ` +
    `(${applicationType(redirectUris)} application, authorization code with PKCE and refresh token, ` +
    `redirect URI ${redirectUris.map(describeRedirectUri).join(' and ')}) and configure its client ID.`
  );
}

/** The port of a loopback redirect URI is another one at each sign-in, which servers allow. @see RFC 8252 §7.3 */
function describeRedirectUri(uri: string): string {
  const url = URL.parse(uri);
  if (url === null || url.port === '' || !isLoopbackHost(url.hostname)) return uri;
  url.port = '';
  return `${url.href} with any port`;
}
