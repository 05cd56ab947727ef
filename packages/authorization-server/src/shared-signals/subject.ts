/** Finds the user that a security event is about: by the subject at the identity provider, or by a verified address. */
import { isMembers, type JsonFields } from '@portcullis/http';
import type { ReportedEnd } from '../federation/end-user-access.ts';
import type { IdentityProvider } from '../federation/provider/identity-provider.ts';
import { findProvisionedAccount } from '../federation/provisioned-users.ts';
import type { AuthorizationStore } from '../store/index.ts';

/** Identifiers that are looked up for one subject. */
const MAX_ALIASES = 10;

/** @see RFC 9493 §3.2, Shared Signals Framework 1.0 §3 */
export async function findSubject(
  store: AuthorizationStore,
  identityProvider: IdentityProvider,
  subject: unknown,
): Promise<Omit<ReportedEnd, 'reportedAt'>> {
  const user = isComplex(subject) ? subject['user'] : subject;
  const session = isComplex(subject) ? subject['session'] : null;
  const candidates = isMembers(user) && user['format'] === 'aliases' ? user['identifiers'] : [user];
  const identifiers = Array.isArray(candidates) ? candidates.slice(0, MAX_ALIASES).filter(isMembers) : [];
  for (const identifier of identifiers) {
    const accountId = await findAccount(store, identityProvider, identifier);
    if (accountId !== null) return { accountId, sessionId: sessionOf(session) };
  }
  return { accountId: null, sessionId: sessionOf(session) };
}

/** JsonFields of a complex subject name a user, a session, a device and others, all of which the event is about. */
function isComplex(subject: unknown): subject is JsonFields {
  return isMembers(subject) && (subject['format'] === 'complex' || isMembers(subject['user']));
}

function sessionOf(session: unknown): string | null {
  return isMembers(session) ? (readText(session['id']) ?? readText(session['sub'])) : null;
}

async function findAccount(
  store: AuthorizationStore,
  identityProvider: IdentityProvider,
  identifier: JsonFields,
): Promise<string | null> {
  const { issuer } = identityProvider.provider;
  const bySubject = async (sub: string | null) =>
    sub === null ? null : ((await store.findLinkedIdentity(issuer, sub))?.accountId ?? null);
  const byAddress = (address: string | null) =>
    address === null
      ? null
      : findProvisionedAccount(store, identityProvider, { externalId: null, addresses: [address] });
  // Before RFC 9493, the format was called `subject_type` and written with hyphens.
  const format = String(identifier['format'] ?? identifier['subject_type']).replaceAll('-', '_');
  switch (format) {
    case 'iss_sub':
      return isSameIssuer(identifier['iss'], issuer) ? bySubject(readText(identifier['sub'])) : null;
    case 'opaque':
      return bySubject(readText(identifier['id']));
    case 'email':
      return byAddress(readText(identifier['email']));
    case 'account':
      return byAddress(readText(identifier['uri'])?.replace(/^acct:/, '') ?? null);
    default:
      return null;
  }
}

/** Some transmitters end the issuer with a slash, which their ID tokens do not. */
function isSameIssuer(given: unknown, issuer: string): boolean {
  return typeof given === 'string' && given.replace(/\/$/, '') === issuer.replace(/\/$/, '');
}

/** PostgreSQL stores no U+0000. */
function readText(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= 255 && !value.includes('\0')
    ? value
    : null;
}
