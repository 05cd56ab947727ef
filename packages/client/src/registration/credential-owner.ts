/** Credential ownership: sessions of a user and of a program are never used for each other, nor one client's for another. */
import { encodeBase64url } from '@portcullis/protocol';
import { type GrantSettings, isMachineGrant } from '../authorization/grant-settings.ts';
import type { CredentialKey, CredentialRecord, Tokens } from '../storage/credentials.ts';
import { configuredClientAt, type PreregisteredClient, type RegistrationSettings } from './registration.ts';

/** The settings that identify the owner of credentials. */
export interface CredentialOwner {
  /** Canonical URL of the server. */
  readonly server: string;
  readonly account: string;
  readonly grant: GrantSettings;
  readonly registration: RegistrationSettings;
}

/** The key under which a client stores its credentials for an issuer. */
export function credentialKeyFor(
  { server, account, grant, registration }: CredentialOwner,
  issuer: string,
): CredentialKey {
  const kind = grant.kind === 'device' ? 'user' : grant.kind;
  if (kind === 'user') return { server, issuer, account, kind };
  const clientId = configuredClientAt(registration, issuer)?.clientId ?? '';
  return { server, issuer, account, kind, clientId };
}

/** Whether a key is the one under which this client stores its credentials. */
export function isOwn(key: CredentialKey, owner: CredentialOwner): boolean {
  const own = credentialKeyFor(owner, key.issuer);
  return key.kind === own.kind && key.clientId === own.clientId;
}

/** Whether this client may use the tokens of a record: obtained by the client and with the credential of its settings. */
export async function mayUseTokens(record: CredentialRecord, owner: CredentialOwner): Promise<boolean> {
  const { key, tokens, credentialFingerprint } = record;
  if (tokens === null || !isOwn(key, owner)) return false;
  if (!isMachineGrant(owner.grant)) return isConfiguredClient(record, tokens, owner.registration);
  if (credentialFingerprint === undefined) return false;
  return credentialFingerprint === (await fingerprintCredential(tokens, owner, key.issuer));
}

/** A configured client is required; without one, any client that the user signed in with is accepted. */
function isConfiguredClient(
  { key, registration }: CredentialRecord,
  { clientId, registration: ownRegistration }: Tokens,
  settings: RegistrationSettings,
): boolean {
  if ((settings.preregistered ?? []).length > 0)
    return configuredClientAt(settings, key.issuer)?.clientId === clientId;
  const url = settings.metadataDocumentUrl;
  return (
    url === undefined || (ownRegistration ?? registration)?.method !== 'metadata-document' || clientId === url
  );
}

/**
 * Binds a program's tokens to the credential they were obtained with, so that a changed secret is sent to the
 * authorization server instead of being ignored. `undefined` for a user's tokens.
 */
export async function fingerprintCredential(
  { accessToken }: Tokens,
  { grant, registration }: Pick<CredentialOwner, 'grant' | 'registration'>,
  issuer: string,
): Promise<string | undefined> {
  if (!isMachineGrant(grant)) return undefined;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(accessToken), algorithm, false, ['sign']);
  const credential = encoder.encode(credentialText(configuredClientAt(registration, issuer)));
  return encodeBase64url(new Uint8Array(await crypto.subtle.sign(algorithm.name, key, credential)));
}

/** Identifiers of private keys in this process: they cannot be exported, so no other process recognizes them. */
const keyNames = new WeakMap<object, string>();

function credentialText(client: PreregisteredClient | null): string {
  const { signingKey, clientSecret } = client ?? {};
  if (signingKey === undefined) return JSON.stringify(['secret', clientSecret ?? null]);
  const name = keyNames.get(signingKey.key) ?? crypto.randomUUID();
  keyNames.set(signingKey.key, name);
  return JSON.stringify(['key', name, clientSecret ?? null]);
}
