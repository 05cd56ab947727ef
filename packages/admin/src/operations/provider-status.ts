/** Whether users can sign in at an identity provider: its metadata and keys, read now, and its last sign-ins by the audit log. */
import { isLoopbackHost } from '@portcullis/protocol';
import * as z from 'zod';
import type { Administration, ConfiguredProvider } from './administration.ts';
import { found, OperationError } from './errors.ts';
import { listEvents } from './events.ts';
import { countProviderKeys, createReadDocument, readPublishedProvider } from './read-provider.ts';

/** Milliseconds for which what was read is not read again. */
const CHECK_AGE = 20_000;

/** What is reachable. `null`: it publishes none. */
interface ProviderCheck {
  readonly metadata: 'reachable' | { readonly error: string } | null;
  readonly keys: number | { readonly error: string } | null;
}

/** What the audit log has. Times are epoch milliseconds; `null`: nothing that a moment of search found. */
export interface ProviderLogins {
  readonly lastSuccess: number | null;
  readonly lastFailure: { readonly at: number; readonly reason: string; readonly eventId: string } | null;
}

export interface ProviderStatus extends ProviderCheck, ProviderLogins {
  readonly id: string;
  readonly name: string;
  readonly issuer: string;
  readonly protocol: 'openid' | 'oauth';
}

/** What the status of providers is read with. */
type StatusSources = Pick<Administration, 'identityProviders' | 'outbound' | 'store'>;

/** Of all, at the same time. */
export async function listProviderStatus(admin: StatusSources): Promise<readonly ProviderStatus[]> {
  const logins = await findProviderLogins(admin);
  return Promise.all(
    admin.identityProviders.map(async (configured) => {
      const { id, name, provider } = configured;
      const { issuer, protocol } = provider;
      const check = await checkOnce(admin, configured);
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
  const [succeeded = [], ...failed] = await Promise.all(
    ['login.succeeded', 'federated_login.failed', 'identity_provider.failed'].map(
      async (type) => (await listEvents({ store }, { type, since }, '', MAX_EVENTS, PATIENCE)).events,
    ),
  );
  const logins = new Map<string, ProviderLogins>();
  for (const { at, details } of succeeded) {
    const id = String(details['identityProvider']);
    if (!logins.has(id)) logins.set(id, { lastSuccess: at, lastFailure: null });
  }
  for (const { id: eventId, at, details } of failed.flat()) {
    const id = String(details['identityProvider']);
    const before = logins.get(id) ?? NO_LOGINS;
    if (at <= (before.lastFailure?.at ?? 0)) continue;
    logins.set(id, { ...before, lastFailure: { at, reason: String(details['reason']), eventId } });
  }
  return logins;
}

const checks = new WeakMap<
  ConfiguredProvider,
  { readonly at: number; readonly check: Promise<ProviderCheck> }
>();

function checkOnce(admin: StatusSources, provider: ConfiguredProvider): Promise<ProviderCheck> {
  const known = checks.get(provider);
  if (known !== undefined && Date.now() - known.at < CHECK_AGE) return known.check;
  const check = checkProvider(admin, provider);
  checks.set(provider, { at: Date.now(), check });
  return check;
}

/** As the server reaches it: the issuer is the operator's choice, and may be in a private network. */
async function checkProvider(
  admin: Pick<Administration, 'outbound'>,
  { provider: { protocol, issuer } }: ConfiguredProvider,
): Promise<ProviderCheck> {
  if (protocol === 'oauth') return { metadata: null, keys: null };
  const { hostname, origin } = new URL(issuer);
  const read = createReadDocument(admin, { loopback: isLoopbackHost(hostname), privateOrigins: [origin] });
  try {
    const published = await readPublishedProvider(read, issuer);
    const keys = await countProviderKeys(read, published).catch(toError);
    return { metadata: 'reachable', keys };
  } catch (error) {
    return { metadata: toError(error), keys: null };
  }
}

function toError(error: unknown): { readonly error: string } {
  if (error instanceof OperationError) return { error: error.message };
  throw error;
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
export function describeProviderStatus(status: ProviderStatus): z.infer<typeof providerStatusSchema> {
  const { metadata, keys, lastSuccess, lastFailure, ...about } = status;
  const isoOrNull = (at: number | undefined | null) => (at == null ? null : new Date(at).toISOString());
  const stateOf = (one: typeof metadata | typeof keys) => {
    if (one === null) return 'unused';
    return typeof one === 'object' ? 'unreachable' : 'reachable';
  };
  const errorOf = (one: typeof metadata | typeof keys) =>
    typeof one === 'object' ? (one?.error ?? null) : null;
  return {
    ...about,
    metadata: stateOf(metadata),
    keys: stateOf(keys),
    error: errorOf(metadata) ?? errorOf(keys),
    lastSuccessAt: isoOrNull(lastSuccess),
    lastFailureAt: isoOrNull(lastFailure?.at),
    lastFailure: lastFailure?.reason ?? null,
  };
}
