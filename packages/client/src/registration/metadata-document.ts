/** A client's own metadata document: written for whoever hosts it, and checked where it is hosted. */
import { validateRedirectUri } from '@portcullis/protocol';
import { ClientError } from '../errors.ts';
import {
  checkNotRedirected,
  type Fetch,
  getRequest,
  parseJsonOrUndefined,
  sendRequest,
  type Transport,
} from '../transport.ts';
import { applicationType } from './dynamic.ts';

/** What a document is made from. */
export interface MetadataDocumentSettings {
  /** Where it will be hosted: https, with a path. This is the client identifier. */
  readonly url: string;
  readonly clientName: string;
  /** Loopback addresses without a port stand for any port; these by default. */
  readonly redirectUris?: readonly string[];
  readonly clientUri?: string;
  readonly logoUri?: string;
  /** Public keys, for a client that proves itself by `private_key_jwt`. */
  readonly jwksUri?: string;
}

/** The document; names are those of the wire. @see draft-ietf-oauth-client-id-metadata-document */
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

/** Servers read no more than this. Bytes. */
const LARGEST = 5_120;

const SECRET_METHODS = ['client_secret_basic', 'client_secret_post', 'client_secret_jwt'];

/** Writes the document. */
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

/** What keeps a URL from being a client identifier; `null`: nothing. */
export function findDocumentUrlIssue(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:') return 'must be an https URL';
  if (url.pathname === '/') return 'must have a path';
  if (text.includes('#')) return 'must have no fragment';
  if (url.username !== '' || url.password !== '') return 'must hold no user name or password';
  // Dots and characters that the parser would change make two spellings of one identifier.
  return url.href === text ? null : 'must be written as it is sent';
}

/** All that keeps a document from being used for its URL; empty: nothing. */
export function findDocumentIssues(json: unknown, url: string): readonly string[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    return ['the document must be a JSON object'];
  const document = json as Readonly<Record<string, unknown>>;
  const issues: string[] = [];
  const urlIssue = findDocumentUrlIssue(url);
  if (urlIssue !== null) issues.push(`the URL ${urlIssue}`);
  // The value MUST match the URL by simple string comparison.
  if (document['client_id'] !== url)
    issues.push('client_id must be the URL of the document, character by character');
  if (typeof document['client_name'] !== 'string' || document['client_name'].trim() === '') {
    issues.push('client_name must be there');
  }
  issues.push(...findRedirectIssues(document['redirect_uris']));
  if (Object.keys(document).some((name) => name.startsWith('client_secret')))
    issues.push('a secret must not be published');
  if (SECRET_METHODS.includes(String(document['token_endpoint_auth_method']))) {
    issues.push('token_endpoint_auth_method must not need a shared secret');
  }
  return issues;
}

function findRedirectIssues(uris: unknown): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0) return ['redirect_uris must name at least one'];
  return uris.flatMap((uri, index) => {
    const judgement =
      typeof uri === 'string' ? validateRedirectUri(uri) : { kind: 'dangerous', reason: 'must be text' };
    return 'reason' in judgement ? [`redirect_uris.${index} ${judgement.reason}`] : [];
  });
}

/**
 * Fetches a hosted document as an authorization server does, and tells what is wrong with it; empty: nothing.
 * @throws ClientError `unreachable` when nobody answers.
 */
export async function checkHostedDocument(url: string, fetch: Fetch): Promise<readonly string[]> {
  const urlIssue = findDocumentUrlIssue(url);
  if (urlIssue !== null) return [`the URL ${urlIssue}`];
  const transport: Transport = { fetch, timeout: 10_000, maxBytes: LARGEST, mapError: () => null };
  try {
    const ask = getRequest(url);
    const answer = await sendRequest(transport, ask);
    checkNotRedirected(ask, answer);
    if (answer.status !== 200) return [`the status must be 200, not ${answer.status}`];
    const json = parseJsonOrUndefined(answer.body);
    return json === undefined ? ['the answer must be JSON'] : findDocumentIssues(json, url);
  } catch (error) {
    if (error instanceof ClientError && error.code === 'redirected') return ['there must be no redirect'];
    if (error instanceof ClientError && error.code === 'response_too_large')
      return [`it must be at most ${LARGEST} bytes long`];
    throw error;
  }
}
