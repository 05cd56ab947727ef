/** Stored registrations with issuer binding: reused while they fit, replaced when they do not, never sent to another issuer. */
import { matchesRedirectUri, type Scopes } from '@portcullis/protocol';
import type { RegistrationSource } from '../authorization/authorization-code.ts';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import { ClientError, sanitizeText } from '../errors.ts';
import type { ClientEvent } from '../events.ts';
import { type CredentialStore, withLockedRecord } from '../storage/credential-store.ts';
import type { CredentialKey, CredentialRecord, Registration, Tokens } from '../storage/credentials.ts';
import type { Transport } from '../transport.ts';
import { type CredentialOwner, credentialKeyFor } from './credential-owner.ts';
import { findPreregistered, register } from './register.ts';
import { configuredClientAt, type RegistrationSettings } from './registration.ts';
import { isUnknownClientError, probeRegistration } from './registration-status.ts';

export interface StoredRegistrations extends RegistrationSource {
  /** The registration that tokens were issued to, with its secret; `null` when it is no longer known. */
  forTokens(record: CredentialRecord, tokens: Tokens): Registration | null;
  /**
   * Discards a registration that the issuer no longer knows, without its tokens. Returns whether there was one that can be
   * replaced without the user.
   */
  discard(key: CredentialKey, reason: string, clientId?: string): Promise<boolean>;
  /** Sends requests that register as needed. A registration that the issuer no longer knows is replaced once. */
  replaceUnknown<T>(discovery: DiscoveryResult, send: () => Promise<T>): Promise<T>;
}

/** Milliseconds: a client that obtained tokens within this time is not probed. */
const RECENT = 3_600_000;

/** The settings of a client that its registrations use. */
interface StoredRegistrationSettings extends CredentialOwner {
  readonly store: CredentialStore;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  readonly emit: (event: ClientEvent) => void;
}

/** Creates the registrations of a client. */
export function createStoredRegistrations(
  clientSettings: StoredRegistrationSettings,
  transport: Transport,
): StoredRegistrations {
  const { store, clock, emit, registration: settings } = clientSettings;

  return {
    async registeredUris(discovery) {
      const preregistered = findPreregistered(settings, discovery);
      if (preregistered !== null) return preregistered.redirectUris;
      const record = await store.find(keyFor(discovery));
      return record?.registration?.redirectUris ?? [];
    },

    async register(discovery, redirectUris, scopes = []) {
      const known = await findReusable(discovery, redirectUris);
      const valid = known === null ? null : await validate(discovery, known, redirectUris, scopes);
      if (valid !== null) return valid;
      const registration = await register({ transport, settings, discovery, redirectUris });
      if (registration.method === 'preregistered')
        await checkIssuerBinding(clientSettings, discovery, registration.clientId);
      await saveRegistration(store, keyFor(discovery), registration);
      const { method, clientId } = registration;
      emit({ type: 'client.registered', issuer: discovery.issuer, method, clientId });
      return registration;
    },

    forTokens({ key, registration }, tokens) {
      const issuedTo = registration?.clientId === tokens.clientId ? registration : tokens.registration;
      return issuedTo === undefined ? null : withSecret(issuedTo, key.issuer);
    },

    withSecret,
    withoutSecret,
    discard,

    async replaceUnknown(discovery, send) {
      try {
        return await send();
      } catch (error) {
        const isUnknown = isUnknownClientError(error);
        if (!isUnknown || !(await discard(keyFor(discovery), error.message))) throw error;
        return send();
      }
    },
  };

  function withSecret(stored: Registration, issuer: string): Registration | null {
    if (stored.method !== 'preregistered' || stored.authentication === 'none') return stored;
    const configured = configuredClientAt(settings, issuer, stored.clientId);
    return configured === null ? null : { ...stored, clientSecret: configured.clientSecret ?? null };
  }

  function discard(key: CredentialKey, reason: string, unknownClientId?: string): Promise<boolean> {
    return withLockedRecord(store, key, async (record) => {
      if (record === null || record.registration?.method !== 'dynamic') return false;
      const { clientId } = record.registration;
      // Another process has already replaced it.
      if (unknownClientId !== undefined && unknownClientId !== clientId) return false;
      await store.save({ ...record, registration: null, tokens: keepRegistration(record) });
      emit({ type: 'client.registration_discarded', issuer: key.issuer, clientId, reason });
      return true;
    });
  }

  /**
   * Probes a registration that can be replaced without the user, before the user would see an error page. Returns it as the issuer
   * describes it now; `null`: the issuer no longer knows it.
   */
  async function validate(
    discovery: DiscoveryResult,
    registration: Registration,
    [redirectUri]: readonly string[],
    scopes: Scopes,
  ): Promise<Registration | null> {
    if (registration.method !== 'dynamic' || redirectUri === undefined) return registration;
    const tokens = (await store.find(keyFor(discovery)))?.tokens ?? null;
    if (tokens?.clientId === registration.clientId && isRecent(tokens)) return registration;
    const request = { discovery, registration, redirectUri, scopes };
    const probed = await probeRegistration(transport, request);
    if (probed !== null && probed !== registration) await saveRegistration(store, keyFor(discovery), probed);
    if (probed !== null) return probed;
    const reason = 'the authorization server no longer knows it';
    await discard(keyFor(discovery), reason, registration.clientId);
    return null;
  }

  /** Tokens of a clock that was ahead may be old. */
  function isRecent({ obtainedAt }: Tokens): boolean {
    return Math.abs(clock() - obtainedAt) < RECENT;
  }

  function keyFor({ issuer }: DiscoveryResult): CredentialKey {
    return credentialKeyFor(clientSettings, issuer);
  }

  /** A stored registration that still fits; none where clients are configured. */
  async function findReusable(
    discovery: DiscoveryResult,
    redirectUris: readonly string[],
  ): Promise<Registration | null> {
    if ((settings.preregistered ?? []).length > 0) return null;
    const registration = (await store.find(keyFor(discovery)))?.registration ?? null;
    if (registration === null) return null;
    return isReusable(registration, settings, redirectUris, clock()) ? registration : null;
  }
}

/** The secret of a configured client stays in the configuration. */
function withoutSecret(registration: Registration): Registration {
  return registration.method === 'preregistered' ? { ...registration, clientSecret: null } : registration;
}

function saveRegistration(
  store: CredentialStore,
  key: CredentialKey,
  registration: Registration,
): Promise<void> {
  const stored = withoutSecret(registration);
  return withLockedRecord(store, key, async (record) => {
    const replacedClients = (record === null ? [] : configuredClientsOf(record)).filter(
      (clientId) => stored.method !== 'preregistered' || clientId !== stored.clientId,
    );
    await store.save({
      ...(record ?? { key, since: null }),
      registration: stored,
      tokens: record === null ? null : keepRegistration(record, stored.clientId),
      ...(replacedClients.length > 0 && { replacedClients }),
    });
  });
}

/**
 * The tokens of a record whose registration another client replaces. A sign-in with that one may be cancelled, and the session
 * continues with its own.
 */
function keepRegistration({ registration, tokens }: CredentialRecord, nextClientId?: string): Tokens | null {
  if (tokens === null || registration?.clientId !== tokens.clientId) return tokens;
  return nextClientId === tokens.clientId ? tokens : { ...tokens, registration };
}

/** The identifiers of the configured clients that were used at the issuer of a record. */
function configuredClientsOf({ registration, replacedClients = [] }: CredentialRecord): readonly string[] {
  if (registration?.method !== 'preregistered') return replacedClients;
  return [...new Set([...replacedClients, registration.clientId])];
}

/**
 * Binds a configured client without an issuer to the first issuer that it is used with at the server, in any account
 * (mix-up attack).
 * @throws ClientError `registration_issuer_mismatch` when it was used with another issuer before
 */
async function checkIssuerBinding(
  { store, account, registration: settings }: StoredRegistrationSettings,
  discovery: DiscoveryResult,
  clientId: string,
): Promise<void> {
  if (configuredClientAt(settings, discovery.issuer, clientId)?.issuer !== undefined) return;
  // A store of an earlier version lists nothing without an account.
  const ofAccount = await store.list(discovery.server, account);
  const issuers = [...ofAccount, ...(await store.list(discovery.server))]
    .filter((record) => configuredClientsOf(record).includes(clientId))
    .map(({ key }) => key.issuer);
  if (issuers.length === 0 || issuers.includes(discovery.issuer)) return;
  throw new ClientError(
    'registration_issuer_mismatch',
    `The configured client was used with ${issuers[0]}, but the server now names ` +
      `${sanitizeText(discovery.issuer)}. It was not sent there; configure its issuer if that is correct.`,
  );
}

/**
 * Whether a stored registration can be used for a new request.
 * @param redirectUris where the redirect of the request will be received
 * @param now epoch milliseconds
 */
function isReusable(
  { method, clientId, secretExpiresAt, redirectUris: registered }: Registration,
  settings: RegistrationSettings,
  redirectUris: readonly string[],
  now: number,
): boolean {
  // The configuration is authoritative.
  if (method === 'preregistered') return false;
  if (secretExpiresAt !== null && now / 1000 >= secretExpiresAt) return false;
  if (method === 'metadata-document') return clientId === settings.metadataDocumentUrl;
  // Dynamic registration is cheap to repeat, so it has to list the exact URI, as strict servers require.
  const matches = (known: string, uri: string): boolean =>
    method === 'dynamic' ? known === uri : matchesRedirectUri(known, uri);
  return redirectUris.every((uri) => registered.some((known) => matches(known, uri)));
}
