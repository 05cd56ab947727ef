/** Client ID metadata documents: creates one to host, and checks a hosted one as an authorization server does. */
import { validateRedirectUri } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import {
  type Fetch,
  getRequest,
  parseJsonOrUndefined,
  requireNoRedirect,
  sendRequest,
  type Transport,
} from '../transport.ts';
import { applicationType } from './dynamic-registration.ts';

/** Input of a document. */
export interface MetadataDocumentSettings {
  /** Where it will be hosted: https, with a path. This is the client identifier. */
  readonly url: string;
  readonly clientName: string;
  /** Loopback URIs match any port; loopback URIs by default. */
  readonly redirectUris?: readonly string[];
  readonly clientUri?: string;
  readonly logoUri?: string;
  /** Public keys, for a client that authenticates with `private_key_jwt`. */
  readonly jwksUri?: string;
}

/** The document, with the member names of the draft. @see draft-ietf-oauth-client-id-metadata-document */
export interface MetadataDocument {
  readonly client_id: string;
  readonly client_name: string;
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: 'none' | 'private_key_jwt';
  readonly application_type: 'native' | 'web';
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly jwks_uri?: string;
}

/** Size limit of authorization servers, in bytes. */
const MAX_BYTES = 5_120;

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'];

/** Creates the document. */
export function buildMetadataDocument(settings: MetadataDocumentSettings): MetadataDocument {
  const redirectUris = settings.redirectUris ?? ['http://127.0.0.1/callback', 'http://localhost/callback'];
  return {
    client_id: settings.url,
    client_name: settings.clientName,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: settings.jwksUri === undefined ? 'none' : 'private_key_jwt',
    application_type: applicationType(redirectUris),
    ...(settings.clientUri !== undefined && { client_uri: settings.clientUri }),
    ...(settings.logoUri !== undefined && { logo_uri: settings.logoUri }),
    ...(settings.jwksUri !== undefined && { jwks_uri: settings.jwksUri }),
  };
}

/** Why a URL cannot be a client identifier; `null`: it can. */
export function findDocumentUrlIssue(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:') return 'must be an https URL';
  if (url.pathname === '/') return 'must have a path';
  if (text.includes('#')) return 'must not have a fragment';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  // Dot segments and characters that the parser normalizes would give one identifier two spellings.
  return url.href === text ? null : 'must be in its normalized form';
}

/** All issues of a document for its URL; empty: it is valid. */
export function findDocumentIssues(json: unknown, url: string): readonly string[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return ['the document must be a JSON object'];
  const document = json as Readonly<Record<string, unknown>>;
  const issues: string[] = [];
  const urlIssue = findDocumentUrlIssue(url);
  if (urlIssue !== null) issues.push(`the URL ${urlIssue}`);
  // The value MUST match the URL by simple string comparison.
  if (document['client_id'] !== url) issues.push('client_id must be exactly the URL of the document');
  if (typeof document['client_name'] !== 'string' || document['client_name'].trim() === '') {
    issues.push('client_name is required');
  }
  issues.push(...findRedirectIssues(document['redirect_uris']));
  return [...issues, ...findSecretIssues(document)];
}

function findSecretIssues(document: Readonly<Record<string, unknown>>): readonly string[] {
  const hasSecret = Object.keys(document).some((name) => name.startsWith('client_secret'));
  const needsSecret = SECRET_METHODS.includes(String(document['token_endpoint_auth_method']));
  return [
    ...(hasSecret ? ['a secret must not be published'] : []),
    ...(needsSecret ? ['token_endpoint_auth_method must not require a shared secret'] : []),
  ];
}

function findRedirectIssues(uris: unknown): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0) return ['redirect_uris must have at least one entry'];
  return uris.flatMap((uri, index) => {
    const result =
      typeof uri === 'string' ? validateRedirectUri(uri) : { kind: 'dangerous', reason: 'must be text' };
    return 'reason' in result ? [`redirect_uris.${index} ${result.reason}`] : [];
  });
}

/**
 * Fetches a hosted document as an authorization server does and returns its issues; empty: it is valid.
 * @throws ClientError `unreachable` when there is no response.
 */
export async function checkHostedDocument(url: string, fetch: Fetch): Promise<readonly string[]> {
  const urlIssue = findDocumentUrlIssue(url);
  if (urlIssue !== null) return [`the URL ${urlIssue}`];
  const transport: Transport = { fetch, timeout: 10_000, maxBytes: MAX_BYTES, mapError: () => null };
  try {
    const request = getRequest(url);
    const response = await sendRequest(transport, request);
    requireNoRedirect(request, response);
    if (response.status !== 200) return [`the status must be 200, not ${response.status}`];
    const json = parseJsonOrUndefined(response.body);
    return json === undefined ? ['the response must be JSON'] : findDocumentIssues(json, url);
  } catch (error) {
    if (error instanceof ClientError && error.code === 'redirected') return ['it must not redirect'];
    if (error instanceof ClientError && error.code === 'response_too_large')
      return [`it must be at most ${MAX_BYTES} bytes long`];
    throw error;
  }
}
