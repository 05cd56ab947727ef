/** The terms of a consent: what a person was shown of the client when they allowed it. */
import type { RedirectTarget } from '@portcullis/protocol';
import type { ResolvedClient } from '../clients/client.ts';
import { hashSecret } from '../secrets.ts';

/** A digest of the redirect URI and of all that the client says of itself. When either changes, a consent is not for it. */
export function consentTermsOf({ digest, metadata }: ResolvedClient, { uri }: RedirectTarget): string {
  return hashSecret(JSON.stringify([uri, digest ?? metadata]));
}
