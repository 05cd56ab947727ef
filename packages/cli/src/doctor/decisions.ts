/** Why the client chose what it chose, in words. */
import type { DiscoveryResult, RegistrationSettings, ScopePlan } from '@portcullis/client';
import type { RegistrationMethod } from '@portcullis/protocol';
import type { Claims } from './claims.ts';
import type { Decision } from './report.ts';

export function explainClaims({ revisions, reason }: Claims): Decision {
  return { about: 'revisions', choice: revisions.join(', '), reason };
}

/** @param refusals origin → what its places answered that had no document */
export function explainDiscovery(
  discovery: DiscoveryResult,
  pinned: boolean,
  refusals: ReadonlyMap<string, readonly string[]>,
): readonly Decision[] {
  const { profile, issuer, resource, resourceMetadata, endpoints } = discovery;
  const listed = resourceMetadata?.authorization_servers ?? [];
  return [
    {
      about: 'profile',
      choice: profile.revision,
      reason: pinned
        ? 'it is pinned by --revision'
        : resourceMetadata !== null
          ? 'the server publishes protected resource metadata, so it is met by the newest revision'
          : 'no place has protected resource metadata, so it is met by the oldest revision, at its own origin',
    },
    {
      about: 'authorization server',
      choice: issuer,
      reason:
        resourceMetadata === null
          ? `the server is its own; ${endpoints === 'metadata' ? 'its metadata names the endpoints' : 'it has no metadata, so the default paths count'}`
          : listed.length === 1
            ? 'the only one that the metadata names'
            : `the first of ${listed.length} that could be used${passedOver(listed, issuer, refusals)}`,
    },
    {
      about: 'resource',
      choice: resource ?? 'none',
      reason:
        resource === null
          ? 'this revision sends no resource indicator'
          : 'as the metadata writes it; it is sent with every request for tokens',
    },
  ];
}

function passedOver(
  listed: readonly string[],
  chosen: string,
  refusals: ReadonlyMap<string, readonly string[]>,
): string {
  const before = listed.slice(0, Math.max(listed.indexOf(chosen), 0));
  const told = before.map((issuer) => {
    const answers = refusals.get(URL.parse(issuer)?.origin ?? '') ?? [];
    return `${issuer} ${answers.length === 0 ? 'could not be used' : `answered ${answers.join(', ')}`}`;
  });
  return told.length === 0 ? '' : `; ${told.join('; ')}`;
}

export function explainScopes({ scopes, reasons }: ScopePlan): Decision {
  return { about: 'scopes', choice: scopes.join(' ') || 'none', reason: reasons.join('; ') };
}

const WAYS: Readonly<Record<RegistrationMethod, string>> = {
  preregistered: 'a client was given, and comes before any other way',
  'metadata-document': 'the authorization server takes metadata documents, which comes before registering',
  dynamic: 'the authorization server registers clients itself',
  'ask-user': 'no other way is open, so a person has registered it',
};

export function explainRegistration(
  way: RegistrationMethod,
  clientId: string,
  { profile, metadata }: DiscoveryResult,
  settings: RegistrationSettings,
): Decision {
  const closed: Readonly<Record<RegistrationMethod, string>> = {
    preregistered: 'no client was given (--client-id)',
    'metadata-document':
      settings.metadataDocumentUrl === undefined
        ? 'no metadata document was given (--client-metadata-url)'
        : metadata.client_id_metadata_document_supported === true
          ? 'it was not needed'
          : 'the authorization server does not say that it takes metadata documents',
    dynamic: 'the authorization server names no registration endpoint',
    'ask-user': '',
  };
  const before = profile.registration.slice(0, profile.registration.indexOf(way));
  const reason = [WAYS[way], ...before.map((one) => `not ${one}: ${closed[one]}`)].join('; ');
  return { about: 'registration', choice: `${way}, as ${clientId}`, reason };
}
