/** Which registration of an earlier time serves a new request, and which one tokens were issued to: laws over what is kept. */
import { matchesRedirectUri } from '@portcullis/protocol';
import type { CredentialRecord } from '../storage/credential-store.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import { configuredClient, type Registration, type RegistrationSettings } from './registration.ts';

/**
 * Whether the person would not be better served by a new one.
 * @param redirectUris where the answer of the coming request will be received
 * @param now epoch milliseconds
 */
export function isReusable(
  registration: Registration,
  settings: RegistrationSettings,
  redirectUris: readonly string[],
  now: number,
): boolean {
  const { method: way, clientId, secretExpiresAt } = registration;
  // What the configuration holds is read there.
  if (way === 'preregistered') return false;
  if (secretExpiresAt !== null && now / 1000 >= secretExpiresAt) return false;
  if (way === 'metadata-document') return clientId === settings.metadataDocumentUrl;
  // A dynamic registration is cheap to repeat, so it has to list the very URI; strict servers know no other.
  const matches = (known: string, uri: string): boolean =>
    way === 'dynamic' ? known === uri : matchesRedirectUri(known, uri);
  return redirectUris.every((uri) => registration.redirectUris.some((known) => matches(known, uri)));
}

/** The registration that tokens were issued to, with its secret; `null` when it is not known any more. */
export function registrationOfTokens(
  { registration }: CredentialRecord,
  { clientId }: Tokens,
  settings: RegistrationSettings,
): Registration | null {
  if (registration === null || registration.clientId !== clientId) return null;
  if (registration.method !== 'preregistered') return registration;
  const configured = configuredClient(settings, clientId);
  return configured === null ? null : { ...registration, clientSecret: configured.clientSecret ?? null };
}

/** As a registration is kept: what the configuration holds is not copied. */
export function withoutConfigured(registration: Registration): Registration {
  return registration.method === 'preregistered' ? { ...registration, clientSecret: null } : registration;
}
