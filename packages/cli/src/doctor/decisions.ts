/** Why the client chose what it chose, in words. */
import type { Discovery, ScopePlan } from '@portcullis/client';
import type { RegistrationWay } from '@portcullis/protocol';
import type { Decision } from './report.ts';

export function explainDiscovery(discovery: Discovery, pinned: boolean): readonly Decision[] {
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
            : `the first of ${listed.length} that could be used`,
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

export function explainScopes({ scopes, reasons }: ScopePlan): Decision {
  return { about: 'scopes', choice: scopes.join(' ') || 'none', reason: reasons.join('; ') };
}

const WAYS: Readonly<Record<RegistrationWay, string>> = {
  preregistered: 'a client was given, and comes before any other way',
  'metadata-document': 'the authorization server takes metadata documents, which comes before registering',
  dynamic: 'the authorization server registers clients itself',
  'ask-user': 'no other way is open, so a person has registered it',
};

export function explainRegistration(
  way: RegistrationWay,
  clientId: string,
  { profile }: Discovery,
): Decision {
  const reason = `${WAYS[way]}; the order is ${profile.registration.join(', ')}`;
  return { about: 'registration', choice: `${way}, as ${clientId}`, reason };
}
