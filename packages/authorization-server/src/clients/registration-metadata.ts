/** Client metadata of a registration: validated on the way in, complete in the response. */
import { type ClientMetadata, DEVICE_CODE, OAuthError, type RegistrationPolicy } from '@portcullis/protocol';
import { openRegistrationPolicy, readClientMetadata } from '@portcullis/protocol/documents';
import type { ServerContext } from '../context.ts';
import type { ClientRecord } from '../store/index.ts';
import type { ClientPolicyOptions } from './options.ts';
import { clientAssertionAlgorithms, clientAuthenticationMethods } from './read-client-credentials.ts';

/** Validates metadata that a client registers or updates. */
export type ReadRegistrationMetadata = (json: unknown) => ClientMetadata;

export function createReadRegistrationMetadata({
  redirects,
  deviceAuthorization,
}: Pick<ClientPolicyOptions, 'redirects' | 'deviceAuthorization'>): ReadRegistrationMetadata {
  const policy: RegistrationPolicy = {
    ...openRegistrationPolicy,
    grantTypes: [...openRegistrationPolicy.grantTypes, ...(deviceAuthorization ? [DEVICE_CODE] : [])],
    authenticationMethods: Object.keys(clientAuthenticationMethods),
    signingAlgorithms: clientAssertionAlgorithms,
    redirects,
  };
  return (json) => {
    const metadata = readClientMetadata(json, policy);
    if (Buffer.byteLength(JSON.stringify(metadata)) > LARGEST) {
      const description = `The metadata is too large: at most ${LARGEST / 1024} KiB are stored per client.`;
      throw new OAuthError('invalid_client_metadata', description);
    }
    return metadata;
  };
}

/**
 * The redirect URIs of a request that were not registered, because this server does not allow their schemes.
 * @param json a request that was read successfully
 */
export function findDroppedRedirectUris(
  json: unknown,
  { redirect_uris: accepted }: ClientMetadata,
): readonly string[] {
  const { redirect_uris: requested = [] } = json as { readonly redirect_uris?: readonly string[] };
  return requested.filter((uri) => !accepted.includes(uri));
}

/** Bytes as JSON. Anyone can store this much for at least a day; the largest legitimate registration is a tenth of it. */
const LARGEST = 16 * 1024;

/** What only the response to a registration or an update contains. Of the secrets, the store has the hashes. */
interface RegistrationOutcome {
  readonly secret: string | null;
  readonly managementToken: string | null;
  readonly droppedRedirectUris?: readonly string[];
}

/** The client information response. @see RFC 7591 §3.2.1 */
export type CreateRegistrationResponse = (client: ClientRecord, outcome: RegistrationOutcome) => object;

/**
 * All registered metadata, with defaults and substitutions. A secret MUST be sent with its expiry; 0 means never, because a
 * client in use would be locked out by one.
 * @see RFC 7591 §3.2.1, RFC 7592 §3
 */
export function createRegistrationResponse({
  issuer,
}: Pick<ServerContext['options'], 'issuer'>): CreateRegistrationResponse {
  const base = `${new URL(issuer).origin}/register/`;
  return (client, { secret, managementToken, droppedRedirectUris: dropped = [] }) => ({
    ...client.metadata,
    client_id: client.id,
    client_id_issued_at: client.createdAt,
    ...(secret !== null && { client_secret: secret, client_secret_expires_at: 0 }),
    ...(managementToken !== null && {
      registration_client_uri: base + client.id,
      registration_access_token: managementToken,
    }),
    // An extension, which clients MUST ignore unless they know it.
    ...(dropped.length > 0 && { dropped_redirect_uris: dropped }),
  });
}
