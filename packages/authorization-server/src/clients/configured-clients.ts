/** Pre-registered clients: metadata that the operator configures or an administrator adds, and its validation. */
import { type ClientMetadata, invalidMetadata, type RedirectPolicy } from '@portcullis/protocol';
import { readClientMetadata } from '@portcullis/protocol/documents';
import { grantTypes } from '../grant-types.ts';
import { MIN_UNGUESSABLE_SECRET } from '../rate-limit/policies.ts';
import { hashSecret, newSecret } from '../secrets.ts';
import type { ClientRecord, ClientUpdate } from '../store/index.ts';
import { type ConfiguredClient, PERSONAL_ACCESS_TOKEN_CLIENT } from './client.ts';
import { clientAssertionAlgorithms, clientAuthenticationMethods } from './read-client-credentials.ts';

/** A client without a secret and without a method is public. */
const AS_PUBLIC = { token_endpoint_auth_method: 'none' };

/** Validates metadata from an operator, who may allow every grant type, method and host. */
export function readPreRegisteredMetadata(document: object, redirects: RedirectPolicy): ClientMetadata {
  return readClientMetadata(document, {
    grantTypes,
    authenticationMethods: Object.keys(clientAuthenticationMethods),
    signingAlgorithms: clientAssertionAlgorithms,
    redirects,
    // The operator can change either the client or the policy, so none is dropped.
    requireAllRedirectUris: true,
    allowPrivateHosts: true,
    allowWorkloadIdentity: true,
  });
}

/** @throws OAuthError `invalid_client_metadata` or `invalid_redirect_uri` */
export function readConfiguredClient(document: unknown, redirects: RedirectPolicy): ConfiguredClient {
  const {
    client_id: id,
    client_secret: secret,
    previous_client_secret: previous,
  } = (document ?? {}) as Record<string, unknown>;
  const hasSecret = isSecret(secret);
  const given = document as object;
  const metadata = readPreRegisteredMetadata(hasSecret ? given : { ...AS_PUBLIC, ...given }, redirects);
  if (hasSecret !== usesSecret(metadata)) {
    throw invalidMetadata(
      'client_secret goes with client_secret_basic or client_secret_post, and only with them',
    );
  }
  if (isSecret(previous) && !hasSecret) {
    throw invalidMetadata('previous_client_secret: goes with client_secret');
  }
  const secrets = [secret, previous].filter(isSecret);
  return {
    id: checkClientId(id),
    metadata,
    secretHash: hasSecret ? hashSecret(secret) : null,
    previousSecret: isSecret(previous)
      ? { hash: hashSecret(previous), expiresAt: Number.POSITIVE_INFINITY }
      : null,
    hasGuessableSecret: secrets.some(({ length }) => length < MIN_UNGUESSABLE_SECRET),
  };
}

function isSecret(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** Whether a client authenticates by a secret. */
export function usesSecret({ token_endpoint_auth_method: method }: ClientMetadata): boolean {
  return method === 'client_secret_basic' || method === 'client_secret_post';
}

/**
 * The update of a client to changed metadata, with a secret if it needs one now and had none. A secret that stays is not part of it: an
 * administrator may rotate it meanwhile.
 */
export function prepareUpdate(
  { secretHash }: ClientRecord,
  metadata: ClientMetadata,
): { readonly update: ClientUpdate; readonly secret: string | null } {
  const needsSecret = usesSecret(metadata);
  if (needsSecret === (secretHash !== null)) return { update: { metadata }, secret: null };
  const secret = needsSecret ? newSecret() : null;
  return { update: { metadata, secretHash: secret === null ? null : hashSecret(secret) }, secret };
}

/**
 * client-id = *VSCHAR. The subject of a token is a user or a client, so their identifiers must not overlap.
 * @see RFC 6749 appendix A.1, RFC 9068 §5
 */
export function checkClientId(id: unknown): string {
  if (typeof id !== 'string' || !/^[\x20-\x7e]{1,2048}$/.test(id)) {
    throw invalidMetadata('client_id must be printable ASCII');
  }
  if (id.startsWith('user_')) {
    throw invalidMetadata('client_id must not start with user_, as accounts do');
  }
  if (id === PERSONAL_ACCESS_TOKEN_CLIENT) {
    throw invalidMetadata(`client_id must not be ${id}, as personal access tokens have it`);
  }
  return id;
}
