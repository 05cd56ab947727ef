/** Whether users can sign in at an identity provider: its metadata and keys, read now, and its last sign-ins by the audit log. */
import { isLoopbackHost } from '@portcullis/protocol';
import * as z from 'zod';
import type { Administration, ConfiguredProvider } from './administration.ts';
import { found, OperationError } from './errors.ts';
import { listEventsOfTypes } from './events.ts';
import { countProviderKeys, createReadDocument, readPublishedProvider } from './read-provider.ts';

/** What the audit log has. Times are epoch milliseconds; `null`: nothing that a moment of search found. */
export interface ProviderLogins {
  readonly lastSuccess: number | null;
  readonly lastFailure: { readonly at: number; readonly reason: string; readonly eventId: string } | null;
}

type DescribedStatus = z.infer<typeof providerStatusSchema>;

/** What can be reached now. */
type ProviderCheck = Pick<DescribedStatus, 'metadata' | 'keys' | 'error'>;

export interface ProviderStatus
  extends Pick<DescribedStatus, 'id' | 'name' | 'issuer' | 'protocol'>,
    ProviderCheck,
    ProviderLogins {}

/** What the status of providers is read with. */
type StatusSources = Pick<Administration, 'identityProviders' | 'outbound' | 'store'>;

/** Of all, at the same time. */
export async function listProviderStatus(admin: StatusSources): Promise<readonly ProviderStatus[]> {
  const logins = await findProviderLogins(admin);
  return Promise.all(
    admin.identityProviders.map(async (configured) => {
      const { id, name, provider } = configured;
      const { issuer, protocol } = provider;
      const check = await checkProvider(admin, configured);
      return { id, name, issuer, protocol, ...check, ...(logins.get(id) ?? NO_LOGINS) };
    }),
  );
}

/** @throws OperationError */
export async function showProviderStatus(admin: StatusSources, id: string): Promise<ProviderStatus> {
  const one = admin.identityProviders.filter((provider) => provider.id === id);
  return found(
    (await listProviderStatus({ ...admin, identityProviders: one }))[0],
    `identity provider ${id}`,
  );
}

const NO_LOGINS: ProviderLogins = { lastSuccess: null, lastFailure: null };

/** Events of a type that are read, milliseconds, and how far back. */
const MAX_EVENTS = 300;
const PATIENCE = 50;
const LATELY = 14 * 86_400_000;

/** By the identifier of the provider. @param since epoch milliseconds; absent: lately */
export async function findProviderLogins(
  { store, identityProviders }: Pick<Administration, 'store' | 'identityProviders'>,
  since: number = Date.now() - LATELY,
): Promise<ReadonlyMap<string, ProviderLogins>> {
  if (identityProviders.length === 0) return new Map();
  const types = ['login.succeeded', 'federated_login.failed', 'identity_provider.failed'];
  const events = await listEventsOfTypes(store, types, { since }, MAX_EVENTS, PATIENCE);
  const logins = new Map<string, ProviderLogins>();
  for (const { id: eventId, type, at, details } of events) {
    const id = String(details['identityProvider']);
    const { lastSuccess, lastFailure } = logins.get(id) ?? NO_LOGINS;
    const failure = { at, reason: String(details['reason']), eventId };
    logins.set(
      id,
      type === 'login.succeeded'
        ? { lastSuccess: lastSuccess ?? at, lastFailure }
        : { lastSuccess, lastFailure: lastFailure ?? failure },
    );
  }
  return logins;
}

/** As the server reaches it: the issuer is the operator's choice, and may be in a private network. */
async function checkProvider(
  admin: Pick<Administration, 'outbound'>,
  { provider: { protocol, issuer } }: ConfiguredProvider,
): Promise<ProviderCheck> {
  if (protocol === 'oauth') return { metadata: 'unused', keys: 'unused', error: null };
  const { hostname, origin } = new URL(issuer);
  const read = createReadDocument(admin, { loopback: isLoopbackHost(hostname), privateOrigins: [origin] });
  let metadata: ProviderCheck['metadata'] = 'unreachable';
  try {
    const published = await readPublishedProvider(read, issuer);
    metadata = 'reachable';
    await countProviderKeys(read, published);
    return { metadata, keys: 'reachable', error: null };
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    return { metadata, keys: metadata === 'reachable' ? 'unreachable' : 'unused', error: error.message };
  }
}

const time = () => z.string().nullable().describe('ISO 8601, in UTC; null: none found lately');
const state = (about: string) => z.enum(['reachable', 'unreachable', 'unused']).describe(about);

export const providerStatusSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    issuer: z.string(),
    protocol: z.enum(['openid', 'oauth']),
    metadata: state('its discovery document; `unused`: its endpoints are configured'),
    keys: state('its keys; `unused`: its metadata cannot be read, or it signs nothing'),
    error: z.string().nullable().describe('why it is unreachable'),
    lastSuccessAt: time(),
    lastFailureAt: time(),
    lastFailure: z.string().nullable().describe('why the last sign-in failed'),
  })
  .meta({ id: 'IdentityProviderStatus' });

/** As the API and the command line show it. */
export function describeProviderStatus({
  lastSuccess,
  lastFailure,
  ...about
}: ProviderStatus): DescribedStatus {
  const isoOrNull = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    ...about,
    lastSuccessAt: isoOrNull(lastSuccess),
    lastFailureAt: isoOrNull(lastFailure?.at ?? null),
    lastFailure: lastFailure?.reason ?? null,
  };
}
