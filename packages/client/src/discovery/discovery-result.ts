/** What follows from the documents of a server and its issuer: the way in which it is met, and all that is known about it. */
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
import { validateEndpointOrigins } from './endpoints.ts';
import { requireNotAnnounced } from './resource-metadata.ts';

/** All that is known about how a server is authorized. */
export interface DiscoveryResult {
  readonly profile: Profile;
  /** Canonical URL of the protected server. */
  readonly server: string;
  /** The resource indicator as the server publishes it; `null` where the profile sends none. */
  readonly resource: string | null;
  /** The identifier by which the authorization server was found: credentials are kept by it. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  /** Where the endpoints come from. */
  readonly endpoints: 'metadata' | 'default-paths';
  readonly resourceMetadata: ProtectedResourceMetadata | null;
  readonly challenge: ServerChallenge;
}

/** How a server is met, once its own metadata was looked for. */
export interface ProfileSelection {
  readonly profile: Profile;
  readonly server: string;
  readonly challenge: ServerChallenge;
  readonly resourceMetadata: ProtectedResourceMetadata | null;
  /** Its authorization servers, in the order in which it names them. */
  readonly issuers: readonly string[];
}

/** What a host knows better than the documents. */
export interface DiscoveryExceptions {
  /** Origins besides an issuer's own, whose endpoints may be used. */
  readonly trustedOrigins?: readonly string[];
  /** Issuer → resource indicator that it wants instead of the published one; `null`: none at all. */
  readonly resourceIndicators?: Readonly<Record<string, string | null>>;
}

/** The revision that a server is asked by before anything is known about it. */
export function firstProfile(pinned: Profile | null): Profile {
  return pinned ?? profileD;
}

/**
 * Chooses the way. A server with protected resource metadata is met by the newest revision; one for which every place
 * answered with absence is met by the oldest, at its own origin.
 * @param found the metadata of the server; `null`: no place has any
 * @throws ClientError `metadata_missing` when the challenge or the pinned revision says that there must be some
 * @see seed 4.2 and 4.3
 */
export function selectProfile(
  server: string,
  challenge: ServerChallenge,
  found: ProtectedResourceMetadata | null,
  pinned: Profile | null = null,
): ProfileSelection {
  const profile = firstProfile(pinned);
  const atOrigin = { server, challenge, resourceMetadata: null, issuers: [authorizationBaseUrl(server)] };
  if (profile.discovery === 'server-origin') return { ...atOrigin, profile };
  if (found !== null)
    return { profile, server, challenge, resourceMetadata: found, issuers: found.authorization_servers };
  requireNotAnnounced(challenge);
  if (pinned === null) return { ...atOrigin, profile: profileA };
  throw new ClientError(
    'metadata_missing',
    `${server} publishes no protected resource metadata, which revision ${profile.revision} needs.`,
  );
}

/**
 * Puts together what is known about one issuer.
 * @param metadata its document; `null`: no place has one. The default paths stand in for it in Profile A alone.
 * @throws ClientError `metadata_missing` or `endpoint_refused`
 */
export function buildDiscoveryResult(
  { profile, server, challenge, resourceMetadata }: ProfileSelection,
  issuer: string,
  metadata: AuthorizationServerMetadata | null,
  { trustedOrigins = [], resourceIndicators = {} }: DiscoveryExceptions = {},
): DiscoveryResult {
  const published = profile.resourceIndicator === 'send' ? (resourceMetadata?.resource ?? null) : null;
  const resource = Object.hasOwn(resourceIndicators, issuer)
    ? (resourceIndicators[issuer] ?? null)
    : published;
  const known = { profile, server, resource, issuer, resourceMetadata, challenge };
  if (metadata !== null) {
    validateEndpointOrigins(metadata, issuer, profile, trustedOrigins);
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
