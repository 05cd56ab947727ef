/** Explains the client's choices: revision, authorization server, resource, scopes and registration method. */
import type { DiscoveryResult, RegistrationSettings, ScopePlan } from '@portcullis/client';
import type { RegistrationMethod } from '@portcullis/protocol';
import type { Claims } from './claims.ts';
import type { Decision } from './report.ts';

export function explainClaims({ revisions, reason }: Claims): Decision {
  return { about: 'revisions', choice: revisions.join(', '), reason };
}

/** @param refusals origin → statuses of its metadata locations without a document */
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
        ? 'pinned by --revision'
        : resourceMetadata !== null
          ? 'the server publishes protected resource metadata, so the newest revision applies'
          : 'there is no protected resource metadata, so the oldest revision applies, at the server’s own origin',
    },
    {
      about: 'authorization server',
      choice: issuer,
      reason:
        resourceMetadata === null
          ? `the server is its own authorization server; ${endpoints === 'metadata' ? 'its metadata names the endpoints' : 'it has no metadata, so the default paths apply'}`
          : listed.length === 1
            ? 'the only one in the metadata'
            : `the first usable one of ${listed.length}${describePassedOver(listed, issuer, refusals)}`,
    },
    {
      about: 'resource',
      choice: resource ?? 'none',
      reason:
        resource === null
          ? 'this revision has no resource indicator'
          : 'exactly as in the metadata; sent with every authorization and token request',
    },
  ];
}

function describePassedOver(
  listed: readonly string[],
  chosen: string,
  refusals: ReadonlyMap<string, readonly string[]>,
): string {
  const before = listed.slice(0, Math.max(listed.indexOf(chosen), 0));
  const told = before.map((issuer) => {
    const responses = refusals.get(URL.parse(issuer)?.origin ?? '') ?? [];
    return `${issuer} ${responses.length === 0 ? 'was unusable' : `answered ${responses.join(', ')}`}`;
  });
  return told.length === 0 ? '' : `; ${told.join('; ')}`;
}

export function explainScopes({ scopes, reasons }: ScopePlan): Decision {
  return { about: 'scopes', choice: scopes.join(' ') || 'none', reason: reasons.join('; ') };
}

const METHOD_REASONS: Readonly<Record<RegistrationMethod, string>> = {
  preregistered: 'a pre-registered client was passed and takes precedence',
  'metadata-document':
    'the authorization server supports client ID metadata documents, which take precedence over registration',
  dynamic: 'the authorization server supports dynamic client registration',
  'ask-user': 'no other method is available, so a user registered the client',
};

export function explainRegistration(
  method: RegistrationMethod,
  clientId: string,
  { profile, metadata }: DiscoveryResult,
  settings: RegistrationSettings,
): Decision {
  const closed: Readonly<Record<RegistrationMethod, string>> = {
    preregistered: 'no client was passed (--client-id)',
    'metadata-document':
      settings.metadataDocumentUrl === undefined
        ? 'no metadata document was passed (--client-metadata-url)'
        : metadata.client_id_metadata_document_supported === true
          ? 'it was not needed'
          : 'the authorization server does not advertise metadata documents',
    dynamic: 'the authorization server has no registration endpoint',
    'ask-user': '',
  };
  const before = profile.registration.slice(0, profile.registration.indexOf(method));
  const reason = [METHOD_REASONS[method], ...before.map((one) => `not ${one}: ${closed[one]}`)].join('; ');
  return { about: 'registration', choice: `${method}, as ${clientId}`, reason };
}
