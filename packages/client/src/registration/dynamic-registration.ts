/** Dynamic client registration: the request, and the validation of its response. */
import {
  type AuthorizationServerMetadata,
  isLoopbackHost,
  jsonMembers,
  matchesRedirectUri,
} from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { Registration, RegistrationManagement } from '../storage/credentials.ts';
import {
  isTemporaryStatus,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  postRequest,
  requireNoRedirect,
  temporaryError,
  textMember,
} from '../transport.ts';
import { chooseMethod, methodToRegister } from './authentication-method.ts';
import type { RegistrationSettings } from './registration.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const BROWSER_GRANTS = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };

/** Device authorization needs no redirect URI; servers exist that refuse an empty list. @see RFC 8628 §3.4, RFC 7591 §2 */
const DEVICE_GRANTS = {
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  response_types: [],
};

/** The client metadata to register. The refresh grant is included, so that users rarely have to sign in again. @see RFC 7591 §2 */
function registrationBody(
  settings: RegistrationSettings,
  metadata: AuthorizationServerMetadata,
  redirectUris: readonly string[],
) {
  const { clientName = 'Portcullis client' } = settings;
  return {
    client_name: typeof clientName === 'function' ? clientName() : clientName,
    ...(settings.clientUri !== undefined && { client_uri: settings.clientUri }),
    ...(settings.softwareId !== undefined && { software_id: settings.softwareId }),
    ...(settings.softwareVersion !== undefined && { software_version: settings.softwareVersion }),
    ...(redirectUris.length > 0 ? { redirect_uris: redirectUris, ...BROWSER_GRANTS } : DEVICE_GRANTS),
    token_endpoint_auth_method: methodToRegister(metadata),
    application_type: applicationType(redirectUris),
  };
}

/** `web` when all redirects go to a remote https URL, else `native`. */
export function applicationType(redirectUris: readonly string[]): 'native' | 'web' {
  const remote = (uri: string): boolean => uri.startsWith('https:') && !isLoopbackHost(new URL(uri).hostname);
  return redirectUris.length > 0 && redirectUris.every(remote) ? 'web' : 'native';
}

/** A registration request, with what its response is validated against. */
export interface DynamicRegistrationRequest extends OAuthRequest {
  /** The requested redirect URIs. */
  readonly redirectUris: readonly string[];
  /** The client authentication methods that the metadata lists; `undefined`: none listed. */
  readonly listedMethods: readonly string[] | undefined;
}

/**
 * The registration request for a client with these redirect URIs; none for device authorization. `null`: the
 * authorization server does not support dynamic registration.
 * @throws ClientError `insecure_url`
 * @see RFC 7591 §3.1
 */
export function registrationRequest(
  { metadata }: Pick<DiscoveryResult, 'metadata'>,
  settings: RegistrationSettings,
  redirectUris: readonly string[],
): DynamicRegistrationRequest | null {
  const endpoint = metadata.registration_endpoint;
  if (endpoint === undefined) return null;
  const body = JSON.stringify(registrationBody(settings, metadata, redirectUris));
  const listedMethods = metadata.token_endpoint_auth_methods_supported;
  return { ...postRequest(endpoint, 'json', body), redirectUris, listedMethods };
}

/**
 * Processes the response: registered values replace requested ones.
 * @throws ClientError `registration_refused` with the server's error; `redirected`; `temporarily_unavailable`
 * @see RFC 7591 §3.2.1
 */
export function processRegistrationResponse(
  request: DynamicRegistrationRequest,
  response: OAuthResponse,
): Registration {
  requireNoRedirect(request, response);
  if (response.status < 200 || response.status >= 300) throw errorFrom(response);
  const document = jsonMembers(parseJsonOrUndefined(response.body));
  const clientId = readText(document['client_id']);
  if (clientId === null) throw refused('The registration response has no client_id.');
  const clientSecret = readText(document['client_secret']);
  const registered = readText(document['token_endpoint_auth_method']) ?? undefined;
  const hasSecret = clientSecret !== null;
  const authentication = chooseMethod({
    registered,
    hasSecret,
    hasKey: false,
    listed: request.listedMethods,
  });
  if (authentication === null || (authentication.startsWith('client_secret') && !hasSecret)) {
    const method = sanitizeText(registered ?? 'a secret');
    throw refused(`The server registered this client with ${method}, which it cannot use.`);
  }
  return {
    method: 'dynamic',
    clientId,
    clientSecret,
    authentication,
    redirectUris: checkRedirectUris(document['redirect_uris'], request.redirectUris),
    secretExpiresAt: readExpiry(document['client_secret_expires_at']),
    ...readManagement(document, request.url),
  };
}

/**
 * The registration as its client configuration endpoint responds with it. Its secret and registration access token MAY differ from
 * the previous ones, which the client MUST then discard.
 * @see RFC 7592 §2.1 and §3
 */
export function updateRegistration(registration: Registration, response: OAuthResponse): Registration {
  const document = jsonMembers(parseJsonOrUndefined(response.body));
  const { management, clientId, clientSecret, secretExpiresAt } = registration;
  if (management === undefined || document['client_id'] !== clientId) return registration;
  const newSecret = clientSecret === null ? null : readText(document['client_secret']);
  return {
    ...registration,
    clientSecret: newSecret ?? clientSecret,
    secretExpiresAt: newSecret === null ? secretExpiresAt : readExpiry(document['client_secret_expires_at']),
    ...readManagement({ registration_client_uri: management.uri, ...document }, management.uri),
  };
}

/** The registration access token is only sent to the origin that issued it. */
function readManagement(document: JsonObject, endpoint: string): { management?: RegistrationManagement } {
  const uri = readText(document['registration_client_uri']);
  const token = readText(document['registration_access_token']);
  if (uri === null || token === null || !/^[\x21-\x7e]+$/.test(token)) return {};
  return URL.parse(uri)?.origin === new URL(endpoint).origin ? { management: { uri, token } } : {};
}

function checkRedirectUris(registered: unknown, requested: readonly string[]): readonly string[] {
  const uris = Array.isArray(registered) ? registered.filter((uri) => typeof uri === 'string') : [];
  if (uris.length === 0) return requested;
  if (requested.some((uri) => uris.some((known) => matchesRedirectUri(known, uri)))) return uris;
  throw refused('The server registered other redirect URIs than the requested ones.');
}

function errorFrom(response: OAuthResponse): ClientError {
  const { status } = response;
  if (isTemporaryStatus(status)) return temporaryError('The registration endpoint', response);
  const oauthError = textMember(response, 'error') || undefined;
  const description = textMember(response, 'error_description');
  const details = [oauthError, description].filter(Boolean).join(': ') || `status ${status}`;
  const message = `The server refused to register this client (${details}).`;
  return new ClientError('registration_refused', message, { oauthError, status });
}

function refused(message: string): ClientError {
  return new ClientError('registration_refused', message);
}

function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Zero means that the secret does not expire. */
function readExpiry(value: unknown): number | null {
  return typeof value === 'number' && value > 0 ? value : null;
}
