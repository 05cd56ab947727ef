/** Validation of Client ID Metadata Documents: what a document must and must not contain. */
import { isMembers } from '@portcullis/http';
import {
  type ClientAuthenticationMethod,
  type ClientMetadata,
  OAuthError,
  type RedirectPolicy,
} from '@portcullis/protocol';
import { openRegistrationPolicy, readClientMetadata } from '@portcullis/protocol/documents';
import { clientAssertionAlgorithms } from '../read-client-credentials.ts';
import { FetchJsonError } from './fetch-json-error.ts';

/** A public document cannot contain a shared secret, so no other methods are allowed. */
const METHODS: readonly ClientAuthenticationMethod[] = ['none', 'private_key_jwt'];

/** Links that users follow. */
const PAGES = ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri'] as const;

/**
 * Validates a document. Its client gets the same rights as one that registers.
 * @param url where it was fetched
 * @throws FetchJsonError if it is no document of this client
 * @throws OAuthError `invalid_client`, telling the client's developer what to fix: only about documents that name their own URL
 * @see draft-ietf-oauth-client-id-metadata-document §4.1
 */
export function readClientDocument(
  url: string,
  json: unknown,
  policy: { readonly redirects: RedirectPolicy; readonly loopback: boolean },
): ClientMetadata {
  if (!isMembers(json)) throw new FetchJsonError('unusable', 'it is not a JSON object');
  const document = json;
  // MUST match by simple string comparison: otherwise a file on one host could impersonate another's client.
  if (document['client_id'] !== url)
    throw new FetchJsonError('unusable', 'its client_id is not the URL that it was fetched from');
  checkSecrets(document);
  const methods = readMethods(document);
  const metadata = readMetadata(
    {
      ...document,
      token_endpoint_auth_method: methods.includes('private_key_jwt') ? 'private_key_jwt' : 'none',
    },
    policy,
  );
  if ((metadata.client_name ?? '').trim() === '') throw invalidDocument('client_name is missing');
  for (const page of PAGES) {
    if (metadata[page]?.startsWith('http:') === true && !policy.loopback)
      throw invalidDocument(`${page}: must use https`);
  }
  return { ...metadata, token_endpoint_auth_methods_supported: methods };
}

/** `client_secret` and `client_secret_expires_at` MUST NOT be used. */
function checkSecrets(document: Readonly<Record<string, unknown>>): void {
  for (const name of ['client_secret', 'client_secret_expires_at']) {
    if (Object.hasOwn(document, name)) throw invalidDocument(`${name} must not be included`);
  }
}

/**
 * The client's authentication methods: all that it lists, because it never learns which one a server would choose. A shared
 * secret MUST NOT be its only method; beside others it is ignored.
 */
function readMethods(document: Readonly<Record<string, unknown>>): readonly ClientAuthenticationMethod[] {
  const { token_endpoint_auth_method: method, token_endpoint_auth_methods_supported: list } = document;
  if (method !== undefined && !METHODS.some((known) => known === method)) {
    throw invalidDocument(`token_endpoint_auth_method: must be ${METHODS.join(' or ')}`);
  }
  if (list !== undefined && !Array.isArray(list)) {
    throw invalidDocument('token_endpoint_auth_methods_supported: must be an array');
  }
  const named = [...(method === undefined ? [] : [method]), ...((list as unknown[] | undefined) ?? [])];
  if (named.length === 0) return ['none'];
  const methods = METHODS.filter((known) => named.includes(known));
  if (methods.length === 0) {
    throw invalidDocument(`token_endpoint_auth_methods_supported: must hold ${METHODS.join(' or ')}`);
  }
  return methods;
}

function readMetadata(
  document: object,
  { redirects, loopback }: { redirects: RedirectPolicy; loopback: boolean },
) {
  try {
    return readClientMetadata(document, {
      ...openRegistrationPolicy,
      authenticationMethods: METHODS,
      signingAlgorithms: clientAssertionAlgorithms,
      redirects,
      allowPrivateHosts: loopback,
    });
  } catch (error) {
    throw error instanceof OAuthError ? invalidDocument(error.description) : error;
  }
}

function invalidDocument(reason: string): OAuthError {
  return new OAuthError('invalid_client', `The document at the client_id cannot be used: ${reason}.`);
}
