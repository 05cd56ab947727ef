/** Evaluates the discovered documents: which protocol revision applies, and everything known about the server's authorization. */
import {
  type AuthorizationServerMetadata,
  authorizationBaseUrl,
  defaultEndpoints,
  type Profile,
  type ProtectedResourceMetadata,
  profileA,
  profileD,
} from '@portcullis/protocol';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ServerChallenge } from './challenge.ts';
import { endpointIssuer, hasForeignEndpoint, validateEndpointOrigins } from './endpoints.ts';

/** Everything known about how a server is authorized. */
export interface DiscoveryResult {
  /** The protocol revision. */
  readonly profile: Profile;
  /** Canonical URL of the protected server. */
  readonly server: string;
  /**
   * The resource indicator as published by the server, or its URL where it publishes none; `null` where the revision sends
   * none.
   */
  readonly resource: string | null;
  /**
   * The identifier of the authorization server: credentials are stored under it. Where the revision does not check the
   * metadata's issuer, it is the origin of the endpoints.
   */
  readonly issuer: string;
  /** The authorization server metadata, or default endpoints. @see RFC 8414 §2 */
  readonly metadata: AuthorizationServerMetadata;
  /** Where the endpoints come from. */
  readonly endpoints: 'metadata' | 'default-paths';
  /** Its protected resource metadata; `null`: it publishes none. @see RFC 9728 §2 */
  readonly resourceMetadata: ProtectedResourceMetadata | null;
  /** The challenge of the server. @see RFC 6750 §3 */
  readonly challenge: ServerChallenge;
}

/** The revision of a server and its authorization servers, after the search for its resource metadata. */
export interface ProfileSelection
  extends Pick<DiscoveryResult, 'profile' | 'server' | 'challenge' | 'resourceMetadata'> {
  /** Its authorization servers in the order of the metadata. */
  readonly issuers: readonly string[];
}

/** Exceptions configured by the host. */
export interface DiscoveryExceptions {
  /** Origins besides the issuer's own whose endpoints may be used. */
  readonly trustedOrigins?: readonly string[];
  /** Issuer → resource indicator to send instead of the published one; `null`: none at all. */
  readonly resourceIndicators?: Readonly<Record<string, string | null>>;
}

/** The revision to assume before anything is known about a server. */
export function initialProfile(pinned: Profile | null): Profile {
  return pinned ?? profileD;
}

/**
 * Selects the revision. A server with protected resource metadata gets the newest revision; a server without any gets
 * the oldest, with its own origin as the authorization server.
 * @param found the metadata of the server; `null`: there is none at any location
 * @throws ClientError `metadata_missing` when the challenge or the pinned revision requires metadata
 * @see RFC 9728 §3, seed 4.2 and 4.3
 */
export function selectProfile(
  server: string,
  challenge: ServerChallenge,
  found: ProtectedResourceMetadata | null,
  pinned: Profile | null = null,
): ProfileSelection {
  const profile = initialProfile(pinned);
  const issuers = [authorizationBaseUrl(server)];
  const atOwnOrigin = { server, challenge, resourceMetadata: null, issuers };
  if (profile.discovery === 'server-origin') return { ...atOwnOrigin, profile };
  if (found !== null)
    return { profile, server, challenge, resourceMetadata: found, issuers: found.authorization_servers };
  const { resourceMetadata: announced } = challenge;
  if (announced !== null) {
    throw new ClientError(
      'metadata_missing',
      `The server announces metadata at ${sanitizeText(announced)}, but there is none.`,
    );
  }
  if (pinned === null) return { ...atOwnOrigin, profile: profileA };
  throw new ClientError(
    'metadata_missing',
    `${server} publishes no protected resource metadata, which revision ${profile.revision} requires.`,
  );
}

/**
 * Combines what is known about one authorization server.
 * @param discovered the identifier by which it was found
 * @param metadata its metadata; `null`: there is none at any location. Only the oldest revision falls back to default paths.
 * @throws ClientError `metadata_missing` or `endpoint_refused`
 * @see RFC 8414 §2, RFC 8707 §2
 */
export function buildDiscoveryResult(
  { profile: selected, server, challenge, resourceMetadata }: ProfileSelection,
  discovered: string,
  metadata: AuthorizationServerMetadata | null,
  { trustedOrigins = [], resourceIndicators = {} }: DiscoveryExceptions = {},
): DiscoveryResult {
  const profile = profileForEndpoints(selected, discovered, metadata);
  const issuer = metadata === null ? discovered : endpointIssuer(metadata, discovered, profile);
  const published = profile.resourceIndicator === 'send' ? (resourceMetadata?.resource ?? server) : null;
  const resource = Object.hasOwn(resourceIndicators, issuer)
    ? (resourceIndicators[issuer] ?? null)
    : published;
  const known = { profile, server, resource, issuer, resourceMetadata, challenge };
  if (metadata !== null) {
    validateEndpointOrigins(metadata, discovered, profile, trustedOrigins);
    return { ...known, metadata, endpoints: 'metadata' };
  }
  if (resourceMetadata !== null || profile.endpointFallback === 'none') {
    throw new ClientError(
      'metadata_missing',
      `The authorization server ${sanitizeText(issuer)} publishes no metadata.`,
    );
  }
  return { ...known, metadata: { issuer, ...defaultEndpoints(issuer) }, endpoints: 'default-paths' };
}

/**
 * A server without resource metadata may name the authorization server of another server, to obtain a token for that one
 * (mix-up attack). So requests to another origin name the resource, and its response is checked for the issuer.
 * @see RFC 8707 §2, RFC 9207 §2.4
 */
function profileForEndpoints(
  profile: Profile,
  issuer: string,
  metadata: AuthorizationServerMetadata | null,
): Profile {
  if (profile.metadataIssuer === 'exact' || metadata === null || !hasForeignEndpoint(metadata, issuer))
    return profile;
  return { ...profile, resourceIndicator: 'send', responseIssuer: 'rfc9207' };
}

/**
 * Where users sign in, as text for them: the issuer, or the origin of the authorization endpoint where the revision does
 * not check that the metadata is the issuer's.
 */
export function signInLocation({ metadata, issuer, profile }: DiscoveryResult): string {
  if (profile.metadataIssuer === 'exact') return issuer;
  return new URL(metadata.authorization_endpoint ?? metadata.token_endpoint ?? issuer).origin;
}

/** Whether the protected server accepts DPoP-bound tokens only. @see RFC 9728 §2 */
export function requiresDpop({ resourceMetadata }: Pick<DiscoveryResult, 'resourceMetadata'>): boolean {
  return resourceMetadata?.dpop_bound_access_tokens_required === true;
}
