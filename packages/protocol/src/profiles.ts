/** The four revisions of the mechanism as values: read it as the changelog of the specification. */
import type { ServerMetadataKind } from './issuer.ts';

/** How a client comes by its identifier. */
export type RegistrationMethod = 'preregistered' | 'metadata-document' | 'dynamic' | 'ask-user';

/** The facts in which revisions differ. A way that a revision lacks is absent from its list. */
export interface Profile {
  /** The only place where dates stand. */
  readonly revision: string;
  /** Where a client learns who authorizes: at the server's own origin, or from protected resource metadata. */
  readonly discovery: 'server-origin' | 'resource-metadata';
  /** Metadata documents that a client looks for. */
  readonly serverMetadata: readonly ServerMetadataKind[];
  /** What happens when there is no metadata. */
  readonly endpointFallback: 'default-paths' | 'none';
  /** Whether the document's issuer must be the one that was asked. RFC 8414 §3.3 asks it of every revision with an issuer. */
  readonly metadataIssuer: 'unchecked' | 'exact';
  /** How a client gets its identifier, in order of preference. */
  readonly registration: readonly RegistrationMethod[];
  readonly resourceIndicator: 'omit' | 'send';
  /** Whether PKCE is taken for granted or must be advertised. */
  readonly pkceSupport: 'assume' | 'advertised';
  readonly responseIssuer: 'ignore' | 'rfc9207';
  /** Where the scopes of a first request come from, in order. */
  readonly scopeFrom: readonly ('challenge' | 'resource-metadata')[];
  /** What is asked for after a 403: nothing, what the challenge names, or that and what was granted before. */
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

/** The issuer of every answer is compared; scopes accumulate. */
export const profileD: Profile = freeze({
  ...profileC,
  revision: '2026-07-28',
  responseIssuer: 'rfc9207',
  stepUp: 'union',
});

/** Oldest first. */
export const profiles: readonly Profile[] = Object.freeze([profileA, profileB, profileC, profileD]);

/** The profile of a revision; `undefined` when there is none of that date. */
export function findProfile(revision: string): Profile | undefined {
  return profiles.find((profile) => profile.revision === revision);
}

/** What a server does for the sum of the profiles that it serves. */
export interface ServerPolicy {
  /** Protected resource metadata is published, and named in challenges. */
  readonly resourceMetadata: boolean;
  /** Documents in which the authorization server is described. */
  readonly serverMetadata: readonly ServerMetadataKind[];
  /** Authorization responses carry `iss`. */
  readonly responseIssuer: boolean;
  /** Challenges name scopes. */
  readonly challengeScopes: boolean;
}

/** Folds the profiles that a server is configured for into one policy. */
export function combineProfiles(served: readonly Profile[]): ServerPolicy {
  return {
    resourceMetadata: served.some((profile) => profile.discovery === 'resource-metadata'),
    serverMetadata: [...new Set(served.flatMap((profile) => profile.serverMetadata))],
    responseIssuer: served.some((profile) => profile.responseIssuer === 'rfc9207'),
    challengeScopes: served.some((profile) => profile.scopeFrom.includes('challenge')),
  };
}
