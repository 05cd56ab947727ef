/** Explains the client's choices: revision, authorization server, resource, scopes and registration method. */
import type { DiscoveryResult, RegistrationSettings } from '@portcullis/client';
import type { RegistrationMethod } from '@portcullis/protocol';
import type { Decision } from './report.ts';

/** @param refusals origin → statuses of its metadata locations without a document */
export function explainDiscovery(
  { profile, server, issuer, resource, resourceMetadata, endpoints }: DiscoveryResult,
  isPinned: boolean,
  refusals: ReadonlyMap<string, readonly string[]>,
): readonly Decision[] {
  const listed = resourceMetadata?.authorization_servers ?? [];
  const isOld = resourceMetadata === null;
  const revision = isOld
    ? 'there is no protected resource metadata, so the oldest revision applies, at the server’s own origin'
    : 'the server publishes protected resource metadata, so the newest revision applies';
  const atOwnOrigin = `the server is its own authorization server; ${endpoints === 'metadata' ? 'its metadata names the endpoints' : 'it has no metadata, so the default paths apply'}`;
  const isElsewhere = issuer !== new URL(server).origin;
  const ownIssuer = isElsewhere
    ? 'the origin of the endpoints that the server’s own metadata names'
    : atOwnOrigin;
  const namedIssuer =
    listed.length === 1
      ? 'the only one in the metadata'
      : `the first usable one of ${listed.length}${describeUnusable(listed, issuer, refusals)}`;
  const sentResource = `${isOld ? 'the endpoints are at another origin' : 'exactly as in the metadata'}; sent with every authorization and token request`;
  return [
    { about: 'profile', choice: profile.revision, reason: isPinned ? 'pinned by --revision' : revision },
    { about: 'authorization server', choice: issuer, reason: isOld ? ownIssuer : namedIssuer },
    {
      about: 'resource',
      choice: resource ?? 'none',
      reason: resource === null ? 'this revision has no resource indicator' : sentResource,
    },
  ];
}

/** The issuers listed before the chosen one. */
function describeUnusable(
  listed: readonly string[],
  chosen: string,
  refusals: ReadonlyMap<string, readonly string[]>,
): string {
  const before = listed.slice(0, Math.max(listed.indexOf(chosen), 0)).map((issuer) => {
    const responses = refusals.get(URL.parse(issuer)?.origin ?? '') ?? [];
    return `; ${issuer} ${responses.length === 0 ? 'was unusable' : `answered ${responses.join(', ')}`}`;
  });
  return before.join('');
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
  const noDocument =
    metadata.client_id_metadata_document_supported === true
      ? 'it was not needed'
      : 'the authorization server does not advertise metadata documents';
  const unavailable: Readonly<Record<RegistrationMethod, string>> = {
    preregistered: 'no client was passed (--client-id)',
    'metadata-document':
      settings.metadataDocumentUrl === undefined
        ? 'no metadata document was passed (--client-metadata-url)'
        : noDocument,
    dynamic: 'the authorization server has no registration endpoint',
    'ask-user': '',
  };
  const before = profile.registration.slice(0, profile.registration.indexOf(method));
  const reasons = [METHOD_REASONS[method], ...before.map((other) => `not ${other}: ${unavailable[other]}`)];
  return { about: 'registration', choice: `${method}, as ${clientId}`, reason: reasons.join('; ') };
}
