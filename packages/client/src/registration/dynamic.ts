/** Dynamic client registration: what is asked for, and what the answer means. */
import {
  type AuthorizationServerMetadata,
  type ClientAuthenticationMethod,
  isLoopbackHost,
  matchesRedirectUri,
} from '@portcullis/protocol';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import {
  checkNotRedirected,
  type OAuthRequest,
  type OAuthResponse,
  parseJsonOrUndefined,
  postRequest,
  readRetryAfter,
} from '../transport.ts';
import { chooseMethod, methodToRegister } from './authentication-method.ts';
import type { Registration, RegistrationManagement, RegistrationSettings } from './registration.ts';

/** The body of a registration request; names are those of the wire. @see RFC 7591 §2 */
export interface RegistrationRequestBody {
  readonly client_name: string;
  readonly client_uri?: string;
  readonly software_id?: string;
  readonly software_version?: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: ClientAuthenticationMethod;
  readonly application_type: 'native' | 'web';
}

const BY_BROWSER = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };

/** Who signs in on another device needs no redirect. @see RFC 8628 §3.4 */
const BY_DEVICE = {
  grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
  response_types: [],
};

/** Writes the request. The refresh grant is registered, so that the person is asked seldom. */
function registrationBody(
  settings: RegistrationSettings,
  metadata: AuthorizationServerMetadata,
  redirectUris: readonly string[],
): RegistrationRequestBody {
  return {
    client_name: settings.clientName ?? 'Portcullis client',
    ...(settings.clientUri !== undefined && { client_uri: settings.clientUri }),
    ...(settings.softwareId !== undefined && { software_id: settings.softwareId }),
    ...(settings.softwareVersion !== undefined && { software_version: settings.softwareVersion }),
    redirect_uris: redirectUris,
    ...(redirectUris.length > 0 ? BY_BROWSER : BY_DEVICE),
    token_endpoint_auth_method: methodToRegister(metadata),
    application_type: applicationType(redirectUris),
  };
}

/** `native` when the answers come to this computer, else `web`. */
export function applicationType(redirectUris: readonly string[]): 'native' | 'web' {
  const remote = (uri: string): boolean => uri.startsWith('https:') && !isLoopbackHost(new URL(uri).hostname);
  return redirectUris.length > 0 && redirectUris.every(remote) ? 'web' : 'native';
}

/** A registration as it is asked for, with what its answer is judged by. */
export interface DynamicRegistrationRequest extends OAuthRequest {
  readonly request: RegistrationRequestBody;
  readonly listedMethods: readonly string[] | undefined;
}

/**
 * Writes the registration of a client whose answers arrive at these URIs; none for a device. `null`: the authorization
 * server registers nobody.
 * @see RFC 7591 §3.1
 */
export function registrationRequest(
  { metadata }: Pick<DiscoveryResult, 'metadata'>,
  settings: RegistrationSettings,
  redirectUris: readonly string[],
): DynamicRegistrationRequest | null {
  const endpoint = metadata.registration_endpoint;
  if (endpoint === undefined) return null;
  const request = registrationBody(settings, metadata, redirectUris);
  const ask = postRequest(endpoint, 'json', JSON.stringify(request));
  return { ...ask, request, listedMethods: metadata.token_endpoint_auth_methods_supported };
}

/**
 * Understands the answer: what it says counts, not what was asked for.
 * @throws ClientError `registration_refused` with what the server said, or an outage.
 * @see RFC 7591 §3.2.1
 */
export function processRegistrationResponse(
  ask: DynamicRegistrationRequest,
  answer: OAuthResponse,
): Registration {
  checkNotRedirected(ask, answer);
  if (answer.status < 200 || answer.status >= 300) throw refused(answer);
  const json = parseJsonOrUndefined(answer.body);
  const document = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  const clientId = text(document['client_id']);
  if (clientId === null) {
    throw new ClientError('registration_refused', 'The registration was answered without a client_id.');
  }
  const clientSecret = text(document['client_secret']);
  const registered = text(document['token_endpoint_auth_method']) ?? undefined;
  const authentication = chooseMethod({
    registered,
    hasSecret: clientSecret !== null,
    hasKey: false,
    listed: ask.listedMethods,
  });
  if (authentication === null || (authentication.startsWith('client_secret') && clientSecret === null)) {
    throw new ClientError(
      'registration_refused',
      `The server registered this client for ${sanitizeText(registered ?? 'a secret')}, which it cannot use.`,
    );
  }
  return {
    method: 'dynamic',
    clientId,
    clientSecret,
    authentication,
    redirectUris: checkRedirectUris(document['redirect_uris'], ask.request.redirect_uris),
    secretExpiresAt: readExpiry(document['client_secret_expires_at']),
    ...readManagement(document, ask.url),
  };
}

/** Its token is sent to the origin that gave it, and to no other. */
function readManagement(
  document: Readonly<Record<string, unknown>>,
  endpoint: string,
): { management?: RegistrationManagement } {
  const uri = text(document['registration_client_uri']);
  const token = text(document['registration_access_token']);
  if (uri === null || token === null || !/^[\x21-\x7e]+$/.test(token)) return {};
  return URL.parse(uri)?.origin === new URL(endpoint).origin ? { management: { uri, token } } : {};
}

function checkRedirectUris(answered: unknown, asked: readonly string[]): readonly string[] {
  const uris = Array.isArray(answered) ? answered.filter((uri) => typeof uri === 'string') : [];
  if (uris.length === 0) return asked;
  if (asked.some((uri) => uris.some((registered) => matchesRedirectUri(registered, uri)))) return uris;
  throw new ClientError(
    'registration_refused',
    'The server registered other redirect URIs than the ones asked for.',
  );
}

function refused(answer: OAuthResponse): ClientError {
  if (answer.status >= 500 || answer.status === 429) {
    return new ClientError(
      'temporarily_unavailable',
      `The registration was answered with status ${answer.status}.`,
      {
        status: answer.status,
        retryAfter: readRetryAfter(answer.headers, Date.now()),
      },
    );
  }
  const json = parseJsonOrUndefined(answer.body);
  const document = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  const error = sanitizeText(text(document['error']) ?? '');
  const description = sanitizeText(text(document['error_description']) ?? '');
  const said = [error, description].filter((part) => part !== '').join(': ') || `status ${answer.status}`;
  return new ClientError('registration_refused', `The server refused to register this client (${said}).`, {
    oauthError: error === '' ? undefined : error,
    status: answer.status,
  });
}

function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** Zero means that the secret does not expire. */
function readExpiry(value: unknown): number | null {
  return typeof value === 'number' && value > 0 ? value : null;
}
