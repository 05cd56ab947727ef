/** The four revisions of MCP authorization as values, and the header that names one: a changelog of the specification. */
import type { ServerMetadataKind } from './issuer.ts';

/** How a client obtains its client identifier. */
export type RegistrationMethod = 'preregistered' | 'metadata-document' | 'dynamic' | 'ask-user';

/** What differs between revisions. */
export interface Profile {
  /** The date of the revision; dates appear nowhere else. */
  readonly revision: string;
  /** How a client finds the authorization server: at the server's own origin, or by protected resource metadata. */
  readonly discovery: 'server-origin' | 'resource-metadata';
  /** Metadata documents that a client tries. */
  readonly serverMetadata: readonly ServerMetadataKind[];
  /** What a client does if there is no metadata. */
  readonly endpointFallback: 'default-paths' | 'none';
  /**
   * Whether the document's issuer must be the expected one. RFC 8414 §3.3 requires it in every revision with an
   * issuer.
   */
  readonly metadataIssuer: 'unchecked' | 'exact';
  /** How a client obtains its identifier, in order of preference. */
  readonly registration: readonly RegistrationMethod[];
  readonly resourceIndicator: 'omit' | 'send';
  /** Whether PKCE support is assumed or must be advertised. */
  readonly pkceSupport: 'assume' | 'advertised';
  readonly responseIssuer: 'ignore' | 'rfc9207';
  /** Where the scopes of a first request come from, in order of preference. */
  readonly scopeFrom: readonly ('challenge' | 'resource-metadata')[];
  /** The scopes requested after a 403: none, those of the challenge, or those together with the granted ones. */
  readonly stepUp: 'none' | 'challenge' | 'union';
}

function freeze(profile: Profile): Profile {
  for (const fact of Object.values(profile)) Object.freeze(fact);
  return Object.freeze(profile);
}

/** The seed's Profile A: the server is its own authorization server. */
export const profileA: Profile = freeze({
  revision: '2025-03-26',
  discovery: 'server-origin',
  serverMetadata: ['oauth'],
  endpointFallback: 'default-paths',
  metadataIssuer: 'unchecked',
  registration: ['preregistered', 'dynamic', 'ask-user'],
  resourceIndicator: 'omit',
  pkceSupport: 'assume',
  responseIssuer: 'ignore',
  scopeFrom: [],
  stepUp: 'none',
});

/** The seed's Profile B: protected resource metadata, resource indicators, audience. */
export const profileB: Profile = freeze({
  ...profileA,
  revision: '2025-06-18',
  discovery: 'resource-metadata',
  endpointFallback: 'none',
  metadataIssuer: 'exact',
  resourceIndicator: 'send',
});

/** OpenID Connect Discovery, client ID metadata documents, scopes by challenge. */
export const profileC: Profile = freeze({
  ...profileB,
  revision: '2025-11-25',
  serverMetadata: ['oauth', 'oidc'],
  pkceSupport: 'advertised',
  registration: ['preregistered', 'metadata-document', 'dynamic', 'ask-user'],
  scopeFrom: ['challenge', 'resource-metadata'],
  stepUp: 'challenge',
});

/** The issuer of every authorization response is compared; scopes accumulate. */
export const profileD: Profile = freeze({
  ...profileC,
  revision: '2026-07-28',
  responseIssuer: 'rfc9207',
  stepUp: 'union',
});

/** All profiles, oldest first. */
export const profiles: readonly Profile[] = Object.freeze([profileA, profileB, profileC, profileD]);

/** Finds the profile of a revision; `undefined` if the date is unknown. */
export function findProfile(revision: string): Profile | undefined {
  return profiles.find((profile) => profile.revision === revision);
}

/** What a server does for all profiles that it serves. */
interface ServerPolicy {
  /** Publishes protected resource metadata and names it in challenges. */
  readonly resourceMetadata: boolean;
  /** Authorization server metadata documents that are published. */
  readonly serverMetadata: readonly ServerMetadataKind[];
  /** Authorization responses carry `iss`. */
  readonly responseIssuer: boolean;
  /** Challenges name scopes. */
  readonly challengeScopes: boolean;
}

/** Combines the served profiles into one policy. */
export function combineProfiles(served: readonly Profile[]): ServerPolicy {
  return {
    resourceMetadata: served.some((profile) => profile.discovery === 'resource-metadata'),
    serverMetadata: [...new Set(served.flatMap((profile) => profile.serverMetadata))],
    responseIssuer: served.some((profile) => profile.responseIssuer === 'rfc9207'),
    challengeScopes: served.some((profile) => profile.scopeFrom.includes('challenge')),
  };
}

/** Both spellings are read: the deployed one and that of the seed. Which one is sent is configurable. */
export const PROTOCOL_VERSION_HEADERS = ['MCP-Protocol-Version', 'Ctx-Protocol-Version'] as const;

/** The name of the header in which a request states its revision. */
export type ProtocolVersionHeader = (typeof PROTOCOL_VERSION_HEADERS)[number];

/** The revision that a request names in either spelling; `null` if it names none. @see seed 9(2) */
export function readProtocolVersion(headers: Pick<Headers, 'get'>): string | null {
  for (const name of PROTOCOL_VERSION_HEADERS) {
    const value = headers.get(name);
    if (value !== null && /^\d{4}-\d{2}-\d{2}$/.test(value)) return value;
  }
  return null;
}
