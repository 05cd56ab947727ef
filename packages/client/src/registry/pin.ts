/** A configured client without an issuer belongs to the first one that it was shown to, and is shown to no other. */
import type { Configuration } from '../configuration.ts';
import type { Discovery } from '../discovery/conclude.ts';
import { ClientError, displayText } from '../errors.ts';
import { configuredClient } from '../registration/registration.ts';

/** @throws ClientError `registration_issuer_mismatch` when another issuer has been shown it before */
export async function checkPin(
  { store, account, registration: settings }: Configuration,
  discovery: Discovery,
  clientId: string,
): Promise<void> {
  if (configuredClient(settings, clientId)?.issuer !== undefined) return;
  const records = await store.list(discovery.server, account);
  const pinned = records.find(
    ({ registration }) => registration?.way === 'preregistered' && registration.clientId === clientId,
  );
  if (pinned === undefined || pinned.key.issuer === discovery.issuer) return;
  throw new ClientError(
    'registration_issuer_mismatch',
    `The configured client was used with ${pinned.key.issuer}, but the server now names ` +
      `${displayText(discovery.issuer)}. It was not sent there; configure its issuer if that is right.`,
  );
}
