/** Registrations that are kept: reused while they fit, made anew when they do not, never shown to another issuer. */
import { matchesRedirectUri, type Scopes } from '@portcullis/protocol';
import type { Registrar } from '../authorization/sign-in.ts';
import type { Configuration } from '../configuration.ts';
import type { Discovery } from '../discovery/conclude.ts';
import { ClientError, displayText } from '../errors.ts';
import type { CredentialKey, CredentialRecord } from '../store/credential-store.ts';
import { keyText } from '../store/credential-store.ts';
import type { Tokens } from '../tokens/tokens.ts';
import type { Wire } from '../transport.ts';
import { findPreregistered, register } from './register.ts';
import type { Registration } from './registration.ts';
import { findStanding } from './standing.ts';

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
  const { store, account, clock, tell, registration: settings } = configuration;

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
      if (registration.way === 'preregistered') await checkPin(discovery, registration);
      await keep(keyOf(discovery), registration);
      tell({
        type: 'registered',
        issuer: discovery.issuer,
        way: registration.way,
        clientId: registration.clientId,
      });
      return registration;
    },

    ofTokens({ registration }, { clientId }) {
      if (registration === null || registration.clientId !== clientId) return null;
      if (registration.way !== 'preregistered') return registration;
      const configured = settings.preregistered?.find((client) => client.clientId === clientId);
      return configured === undefined
        ? null
        : { ...registration, clientSecret: configured.clientSecret ?? null };
    },

    dropDead,
  };

  async function dropDead(key: CredentialKey, reason: string, dead?: string): Promise<boolean> {
    const release = await store.lock(`refresh ${keyText(key)}`);
    try {
      const record = await store.find(key);
      if (record === null || record.registration?.way !== 'dynamic') return false;
      const { clientId } = record.registration;
      // Somebody else has made another one meanwhile.
      if (dead !== undefined && dead !== clientId) return false;
      await store.save({ ...record, registration: null });
      tell({ type: 'registration_dropped', issuer: key.issuer, clientId, reason });
      return true;
    } finally {
      await release();
    }
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

  function keyOf({ server, issuer }: Discovery): CredentialKey {
    return { server, issuer, account };
  }

  /** A registration of an earlier time, when the person would not be better served by a new one. */
  async function findKnown(
    discovery: Discovery,
    redirectUris: readonly string[],
  ): Promise<Registration | null> {
    if ((settings.preregistered ?? []).length > 0) return null;
    const registration = (await store.find(keyOf(discovery)))?.registration ?? null;
    if (registration === null || registration.way === 'preregistered') return null;
    const { secretExpiresAt, way } = registration;
    if (secretExpiresAt !== null && clock() / 1000 >= secretExpiresAt) return null;
    if (way === 'metadata-document') {
      return registration.clientId === settings.metadataDocumentUrl ? registration : null;
    }
    // A dynamic registration is cheap to repeat, so it has to list the very URI; strict servers know no other.
    const fits = (uri: string): boolean =>
      registration.redirectUris.some((known) =>
        way === 'dynamic' ? known === uri : matchesRedirectUri(known, uri),
      );
    return redirectUris.every(fits) ? registration : null;
  }

  async function keep(key: CredentialKey, registration: Registration): Promise<void> {
    // What the configuration holds is not copied.
    const kept =
      registration.way === 'preregistered' ? { ...registration, clientSecret: null } : registration;
    const release = await store.lock(`refresh ${keyText(key)}`);
    try {
      const record = await store.find(key);
      await store.save({ key, tokens: record?.tokens ?? null, registration: kept });
    } finally {
      await release();
    }
  }

  /** A configured client without an issuer belongs to the first one that it was shown to. */
  async function checkPin(discovery: Discovery, { clientId }: Registration): Promise<void> {
    const configured = settings.preregistered?.find((client) => client.clientId === clientId);
    if (configured?.issuer !== undefined) return;
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
}
