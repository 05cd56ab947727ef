/** A configured client without an issuer belongs to the first one that it was shown to, and is shown to no other. */

import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ClientSettings } from '../settings.ts';
import { configuredClient } from './registration.ts';

/** @throws ClientError `registration_issuer_mismatch` when another issuer has been shown it before */
export async function checkIssuerBinding(
  { store, account, registration: settings }: ClientSettings,
  discovery: DiscoveryResult,
  clientId: string,
): Promise<void> {
  if (configuredClient(settings, clientId)?.issuer !== undefined) return;
  const records = await store.list(discovery.server, account);
  const pinned = records.find(
    ({ registration }) => registration?.method === 'preregistered' && registration.clientId === clientId,
  );
  if (pinned === undefined || pinned.key.issuer === discovery.issuer) return;
  throw new ClientError(
    'registration_issuer_mismatch',
    `The configured client was used with ${pinned.key.issuer}, but the server now names ` +
      `${sanitizeText(discovery.issuer)}. It was not sent there; configure its issuer if that is right.`,
  );
}
