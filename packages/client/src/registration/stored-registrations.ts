/** Registrations that are kept: reused while they fit, made anew when they do not, never shown to another issuer. */
import type { Scopes } from '@portcullis/protocol';
import type { RegistrationSource } from '../authorization/authorization-code.ts';
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import type { ClientSettings } from '../settings.ts';
import { changeRecord } from '../storage/change-record.ts';
import type { CredentialKey, CredentialRecord } from '../storage/credential-store.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { Transport } from '../transport.ts';
import { credentialKeyFor } from './credential-owner.ts';
import { checkIssuerBinding } from './issuer-binding.ts';
import { probeRegistration } from './probe-registration.ts';
import { findPreregistered, register } from './register.ts';
import type { Registration } from './registration.ts';
import { isReusable, registrationOfTokens, withoutConfigured } from './reusable.ts';

/** The registrar, and what else is asked about registrations. */
export interface StoredRegistrations extends RegistrationSource {
  /** The registration that tokens were issued to; `null` when it is not known any more. */
  forTokens(record: CredentialRecord, tokens: Tokens): Registration | null;
  /**
   * Forgets a registration that the issuer does not know any more; tokens stay. Tells whether there was one that can be
   * made anew without a person.
   */
  discard(key: CredentialKey, reason: string, clientId?: string): Promise<boolean>;
}

/** Milliseconds after which somebody may have been forgotten who was known. */
const RECENT = 3_600_000;

/** Makes the registry of a client. */
export function createStoredRegistrations(
  configuration: ClientSettings,
  transport: Transport,
): StoredRegistrations {
  const { store, clock, emit: tell, registration: settings } = configuration;

  return {
    async registeredUris(discovery) {
      const preregistered = findPreregistered(settings, discovery);
      if (preregistered !== null) return preregistered.redirectUris;
      const record = await store.find(keyOf(discovery));
      return record?.registration?.redirectUris ?? [];
    },

    async register(discovery, redirectUris, scopes = []) {
      const known = await findKnown(discovery, redirectUris);
      if (known !== null && (await stands(discovery, known, redirectUris, scopes))) return known;
      const registration = await register({ transport, settings, discovery, redirectUris });
      if (registration.method === 'preregistered')
        await checkIssuerBinding(configuration, discovery, registration.clientId);
      await keep(keyOf(discovery), registration);
      const { method: way, clientId } = registration;
      tell({ type: 'client.registered', issuer: discovery.issuer, method: way, clientId });
      return registration;
    },

    forTokens: (record, tokens) => registrationOfTokens(record, tokens, settings),
    discard: dropDead,
  };

  function dropDead(key: CredentialKey, reason: string, dead?: string): Promise<boolean> {
    return changeRecord(store, key, async (record) => {
      if (record === null || record.registration?.method !== 'dynamic') return false;
      const { clientId } = record.registration;
      // Somebody else has made another one meanwhile.
      if (dead !== undefined && dead !== clientId) return false;
      await store.save({ ...record, registration: null });
      tell({ type: 'client.registration_discarded', issuer: key.issuer, clientId, reason });
      return true;
    });
  }

  /** What can be repeated without a person is asked for before the person is sent to a page of errors. */
  async function stands(
    discovery: DiscoveryResult,
    registration: Registration,
    [redirectUri]: readonly string[],
    scopes: Scopes,
  ): Promise<boolean> {
    if (registration.method !== 'dynamic' || redirectUri === undefined) return true;
    const tokens = (await store.find(keyOf(discovery)))?.tokens ?? null;
    // Who has just given it tokens knows it.
    if (tokens?.clientId === registration.clientId && clock() - tokens.obtainedAt < RECENT) return true;
    const request = { discovery, registration, redirectUri, scopes };
    if ((await probeRegistration(transport, request)) !== 'gone') return true;
    const reason = 'the authorization server does not know it any more';
    await dropDead(keyOf(discovery), reason, registration.clientId);
    return false;
  }

  function keyOf({ issuer }: DiscoveryResult): CredentialKey {
    return credentialKeyFor(configuration, issuer);
  }

  /** A registration of an earlier time; where clients are configured, none counts. */
  async function findKnown(
    discovery: DiscoveryResult,
    redirectUris: readonly string[],
  ): Promise<Registration | null> {
    if ((settings.preregistered ?? []).length > 0) return null;
    const registration = (await store.find(keyOf(discovery)))?.registration ?? null;
    if (registration === null) return null;
    return isReusable(registration, settings, redirectUris, clock()) ? registration : null;
  }

  function keep(key: CredentialKey, registration: Registration): Promise<void> {
    return changeRecord(store, key, (record) => {
      const before = record ?? { key, tokens: null };
      return store.save({ ...before, registration: withoutConfigured(registration) });
    });
  }
}
