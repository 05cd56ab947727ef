/** Registrations that are kept: reused while they fit, made anew when they do not, never shown to another issuer. */
import type { Scopes } from '@portcullis/protocol';
import type { Registrar } from '../authorization/sign-in.ts';
import type { Configuration } from '../configuration.ts';
import type { Discovery } from '../discovery/conclude.ts';
import { findPreregistered, register } from '../registration/register.ts';
import type { Registration } from '../registration/registration.ts';
import { changeRecord } from '../store/change-record.ts';
import type { CredentialKey, CredentialRecord } from '../store/credential-store.ts';
import type { Tokens } from '../tokens/tokens.ts';
import type { Wire } from '../transport.ts';
import { keyAt } from './belonging.ts';
import { findStanding } from './find-standing.ts';
import { isFitting, registrationOfTokens, withoutConfigured } from './fitting.ts';
import { checkPin } from './pin.ts';

/** The registrar, and what else is asked about registrations. */
export interface Registry extends Registrar {
  /** The registration that tokens were issued to; `null` when it is not known any more. */
  ofTokens(record: CredentialRecord, tokens: Tokens): Registration | null;
  /**
   * Forgets a registration that the issuer does not know any more; tokens stay. Tells whether there was one that can be
   * made anew without a person.
   */
  dropDead(key: CredentialKey, reason: string, clientId?: string): Promise<boolean>;
}

/** Milliseconds after which somebody may have been forgotten who was known. */
const RECENT = 3_600_000;

/** Makes the registry of a client. */
export function createRegistry(configuration: Configuration, wire: Wire): Registry {
  const { store, clock, tell, registration: settings } = configuration;

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
      const registration = await register({ wire, settings, discovery, redirectUris });
      if (registration.way === 'preregistered')
        await checkPin(configuration, discovery, registration.clientId);
      await keep(keyOf(discovery), registration);
      const { way, clientId } = registration;
      tell({ type: 'registered', issuer: discovery.issuer, way, clientId });
      return registration;
    },

    ofTokens: (record, tokens) => registrationOfTokens(record, tokens, settings),
    dropDead,
  };

  function dropDead(key: CredentialKey, reason: string, dead?: string): Promise<boolean> {
    return changeRecord(store, key, async (record) => {
      if (record === null || record.registration?.way !== 'dynamic') return false;
      const { clientId } = record.registration;
      // Somebody else has made another one meanwhile.
      if (dead !== undefined && dead !== clientId) return false;
      await store.save({ ...record, registration: null });
      tell({ type: 'registration_dropped', issuer: key.issuer, clientId, reason });
      return true;
    });
  }

  /** What can be repeated without a person is asked for before the person is sent to a page of errors. */
  async function stands(
    discovery: Discovery,
    registration: Registration,
    [redirectUri]: readonly string[],
    scopes: Scopes,
  ): Promise<boolean> {
    if (registration.way !== 'dynamic' || redirectUri === undefined) return true;
    const tokens = (await store.find(keyOf(discovery)))?.tokens ?? null;
    // Who has just given it tokens knows it.
    if (tokens?.clientId === registration.clientId && clock() - tokens.obtainedAt < RECENT) return true;
    const request = { discovery, registration, redirectUri, scopes };
    if ((await findStanding(wire, request)) !== 'gone') return true;
    const reason = 'the authorization server does not know it any more';
    await dropDead(keyOf(discovery), reason, registration.clientId);
    return false;
  }

  function keyOf({ issuer }: Discovery): CredentialKey {
    return keyAt(configuration, issuer);
  }

  /** A registration of an earlier time; where clients are configured, none counts. */
  async function findKnown(
    discovery: Discovery,
    redirectUris: readonly string[],
  ): Promise<Registration | null> {
    if ((settings.preregistered ?? []).length > 0) return null;
    const registration = (await store.find(keyOf(discovery)))?.registration ?? null;
    if (registration === null) return null;
    return isFitting(registration, settings, redirectUris, clock()) ? registration : null;
  }

  function keep(key: CredentialKey, registration: Registration): Promise<void> {
    return changeRecord(store, key, (record) => {
      const before = record ?? { key, tokens: null };
      return store.save({ ...before, registration: withoutConfigured(registration) });
    });
  }
}
