/** Explains the client's choices: revision, authorization server, resource, and registration method. */
import type { DiscoveryResult, RegistrationSettings } from '@portcullis/client';
import type { RegistrationMethod } from '@portcullis/protocol';
import type { Decision } from './report.ts';

export function explainDiscovery(discovery: DiscoveryResult, isPinned: boolean): readonly Decision[] {
  const { profile, issuer, resource, resourceMetadata } = discovery;
  const detected =
    resourceMetadata === null
      ? 'there is no protected resource metadata, so the oldest revision applies, at the server’s own origin'
      : 'the server publishes protected resource metadata, so the newest revision applies';
  const sent = `${resourceMetadata === null ? 'the endpoints are at another origin' : 'exactly as in the metadata'}; sent with every authorization and token request`;
  const resourceReason = resource === null ? 'this revision has no resource indicator' : sent;
  return [
    { about: 'profile', choice: profile.revision, reason: isPinned ? 'pinned by --revision' : detected },
    { about: 'authorization server', choice: issuer, reason: explainIssuer(discovery) },
    { about: 'resource', choice: resource ?? 'none', reason: resourceReason },
  ];
}

function explainIssuer({ server, issuer, resourceMetadata, endpoints }: DiscoveryResult): string {
  if (resourceMetadata !== null) {
    const { length } = resourceMetadata.authorization_servers;
    return length === 1 ? 'the only one in the metadata' : `the first usable one of ${length}`;
  }
  if (issuer !== new URL(server).origin)
    return 'the origin of the endpoints that the server’s own metadata names';
  return endpoints === 'metadata'
    ? 'the server is its own authorization server; its metadata names the endpoints'
    : 'the server is its own authorization server; it has no metadata, so the default paths apply';
}

const CHOSEN: Readonly<Record<RegistrationMethod, string>> = {
  preregistered: 'a pre-registered client was passed and takes precedence',
  'metadata-document':
    'the authorization server supports client ID metadata documents, which take precedence over registration',
  dynamic: 'the authorization server supports dynamic client registration',
  'ask-user': 'no other method is available, so a user registered the client',
};

export function explainRegistration(
  method: RegistrationMethod,
  clientId: string,
  { profile }: DiscoveryResult,
  { metadataDocumentUrl }: RegistrationSettings,
): Decision {
  const unavailable: Readonly<Record<RegistrationMethod, string>> = {
    preregistered: 'no client was passed (--client-id)',
    'metadata-document':
      metadataDocumentUrl === undefined
        ? 'no metadata document was passed (--client-metadata-url)'
        : 'the authorization server does not advertise metadata documents',
    dynamic: 'the authorization server has no registration endpoint',
    'ask-user': '',
  };
  const before = profile.registration.slice(0, profile.registration.indexOf(method));
  const reasons = [CHOSEN[method], ...before.map((other) => `not ${other}: ${unavailable[other]}`)];
  return { about: 'registration', choice: `${method}, as ${clientId}`, reason: reasons.join('; ') };
}
