/** Which endpoints of an authorization server may receive secrets: all at one place, and that place its issuer's. */
import type { AuthorizationServerMetadata, Profile } from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';

/** Endpoints that codes, secrets, tokens or registrations are sent to. */
const SECRET_ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'device_authorization_endpoint',
] as const;

/** Issuers known to run their endpoints on another host of their own. */
const KNOWN_HOSTS: Readonly<Record<string, readonly string[]>> = {
  'https://accounts.google.com': ['https://oauth2.googleapis.com'],
};

/**
 * Refuses metadata that spreads its endpoints over foreign origins: a real login page beside somebody else's token
 * endpoint would hand over the code. Where the document's issuer is checked, the origin must be the issuer's; where it
 * is not, all must share one.
 * @throws ClientError `endpoint_refused`, naming the endpoint.
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
  const home = homeOrigin(metadata, issuer, profile);
  for (const name of SECRET_ENDPOINTS) {
    const endpoint = metadata[name];
    if (endpoint === undefined) continue;
    const { origin } = new URL(endpoint);
    if (origin === home || trusted.includes(origin)) continue;
    throw new ClientError(
      'endpoint_refused',
      `The ${name} of ${sanitizeText(issuer)} is at ${sanitizeText(origin)}, away from ${sanitizeText(home)}. ` +
        'If that is right, name it in trustedOrigins.',
    );
  }
}

function homeOrigin(metadata: AuthorizationServerMetadata, issuer: string, profile: Profile): string {
  if (profile.metadataIssuer === 'exact') return new URL(issuer).origin;
  return new URL(metadata.token_endpoint ?? metadata.authorization_endpoint ?? issuer).origin;
}

/** Where tokens are asked for. @throws ClientError `metadata_invalid` when the metadata names no such place */
export function requireTokenEndpoint({
  metadata,
  issuer,
}: {
  readonly metadata: AuthorizationServerMetadata;
  readonly issuer: string;
}): string {
  if (metadata.token_endpoint !== undefined) return metadata.token_endpoint;
  throw new ClientError('metadata_invalid', `${sanitizeText(issuer)} names no token endpoint.`);
}
