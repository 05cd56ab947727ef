/** Endpoint origins: codes, secrets and tokens are only sent to endpoints at the issuer's own origin (mix-up attack). */
import type { AuthorizationServerMetadata, Profile } from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';

/** Endpoints that receive codes, secrets, tokens or registrations. */
const SECRET_ENDPOINTS = [
  'authorization_endpoint',
  'pushed_authorization_request_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'device_authorization_endpoint',
] as const;

/** Issuers that are known to host their endpoints elsewhere. */
const KNOWN_HOSTS: Readonly<Record<string, readonly string[]>> = {
  'https://accounts.google.com': ['https://oauth2.googleapis.com'],
};

/**
 * Rejects metadata with endpoints at foreign origins: a genuine authorization endpoint combined with an attacker's token
 * endpoint would leak the code. Where the revision checks the metadata's issuer, all endpoints must be at its origin;
 * otherwise all must share one origin.
 * @throws ClientError `endpoint_refused`, naming the endpoint.
 * @see RFC 9700 §4.4
 */
export function validateEndpointOrigins(
  metadata: AuthorizationServerMetadata,
  issuer: string,
  profile: Profile,
  trustedOrigins: readonly string[],
): void {
  const trusted = [
    ...trustedOrigins,
    ...(Object.hasOwn(KNOWN_HOSTS, issuer) ? (KNOWN_HOSTS[issuer] ?? []) : []),
  ];
  const expected = expectedOrigin(metadata, issuer, profile);
  for (const name of SECRET_ENDPOINTS) {
    const endpoint = metadata[name];
    if (endpoint === undefined) continue;
    const { origin } = new URL(endpoint);
    if (origin === expected || trusted.includes(origin)) continue;
    throw new ClientError(
      'endpoint_refused',
      `The ${name} of ${sanitizeText(issuer)} is at ${sanitizeText(origin)}, not at ${sanitizeText(expected)}. ` +
        'If that is correct, add the origin to trustedOrigins.',
    );
  }
}

function expectedOrigin(metadata: AuthorizationServerMetadata, issuer: string, profile: Profile): string {
  return new URL(endpointIssuer(metadata, issuer, profile)).origin;
}

/**
 * The issuer that registrations, secrets and tokens belong to: the discovered one, or the origin of the endpoints where the
 * revision does not check that the metadata is the issuer's. So metadata that names other endpoints names another issuer.
 */
export function endpointIssuer(
  metadata: AuthorizationServerMetadata,
  discovered: string,
  profile: Profile,
): string {
  if (profile.metadataIssuer === 'exact') return discovered;
  return new URL(metadata.token_endpoint ?? metadata.authorization_endpoint ?? discovered).origin;
}

/** Whether an endpoint is at another origin than the issuer. */
export function hasForeignEndpoint(metadata: AuthorizationServerMetadata, issuer: string): boolean {
  const { origin } = new URL(issuer);
  return SECRET_ENDPOINTS.some((name) => new URL(metadata[name] ?? issuer).origin !== origin);
}

/** The token endpoint. @throws ClientError `metadata_invalid` when the metadata has none */
export function requireTokenEndpoint({
  metadata,
  issuer,
}: {
  readonly metadata: AuthorizationServerMetadata;
  readonly issuer: string;
}): string {
  if (metadata.token_endpoint !== undefined) return metadata.token_endpoint;
  throw new ClientError('metadata_invalid', `${sanitizeText(issuer)} has no token endpoint.`);
}
