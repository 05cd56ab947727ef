/** Whose what is kept is: sessions of a person and of a program never stand in for each other, nor one client for another. */
import { base64url } from '@portcullis/protocol';
import { type GrantSettings, isMachineGrant } from '../authorization/grant-settings.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialKey, CredentialRecord, SessionKind } from '../storage/credential-store.ts';
import type { Tokens } from '../token-endpoint/token-response.ts';
import type { PreregisteredClient, RegistrationSettings } from './registration.ts';

/** What of a configuration says who acts. */
type Actor = Pick<ClientSettings, 'server' | 'account' | 'grant' | 'registration'>;

/** Where a client keeps what belongs to it at an issuer. */
export function credentialKeyFor(
  { server, account, grant, registration }: Actor,
  issuer: string,
): CredentialKey {
  const kind = kindOf(grant);
  if (kind === 'user') return { server, issuer, account, kind };
  return { server, issuer, account, kind, clientId: clientAt(registration, issuer)?.clientId ?? '' };
}

/** Who acts by a grant: another device is a person's too. */
function kindOf(grant: GrantSettings): SessionKind {
  return grant.kind === 'device' ? 'user' : grant.kind;
}

/** Whether a key is where this client keeps what belongs to it. */
export function isOwn(key: CredentialKey, actor: Actor): boolean {
  const own = credentialKeyFor(actor, key.issuer);
  return (key.kind ?? 'user') === own.kind && key.clientId === own.clientId;
}

/** Whether this client may go on with the tokens of a record: its own, and got by the client and credential it has now. */
export async function mayUseTokens(record: CredentialRecord, actor: Actor): Promise<boolean> {
  const { key, tokens, credentialFingerprint: bond } = record;
  if (tokens === null || !isOwn(key, actor)) return false;
  if (!isMachineGrant(actor.grant)) return isUsers(record, tokens, actor.registration);
  return bond !== undefined && bond === (await credentialFingerprint(tokens, actor, key.issuer));
}

/** A client that is named is meant; where none is, any client that the person signed in by will do. */
function isUsers(record: CredentialRecord, tokens: Tokens, settings: RegistrationSettings): boolean {
  if (sessionKindOf(record) !== 'user') return false;
  if ((settings.preregistered ?? []).length > 0)
    return clientAt(settings, record.key.issuer)?.clientId === tokens.clientId;
  const url = settings.metadataDocumentUrl;
  return url === undefined || record.registration?.method !== 'metadata-document' || tokens.clientId === url;
}

/**
 * Who acts by the session of a record. `unknown`: an earlier version kept it, which did not tell the tokens of a program
 * from a person's, and they may be either. Nobody goes on with such tokens.
 */
export function sessionKindOf({ key, tokens, registration }: CredentialRecord): SessionKind | 'unknown' {
  if (key.kind !== undefined) return key.kind;
  // A program gets no refresh token, and proves itself as a client that was registered beforehand.
  if (tokens === null || tokens.refreshToken !== null) return 'user';
  const isUsers =
    registration?.clientId === tokens.clientId &&
    (registration.method !== 'preregistered' || registration.authentication === 'none');
  return isUsers ? 'user' : 'unknown';
}

/**
 * What binds the tokens of a program to the credential that they were got with, so that another secret is tried at the
 * authorization server and not passed over. `undefined`: a person's need none.
 */
export async function credentialFingerprint(
  { accessToken }: Tokens,
  { grant, registration }: Pick<Actor, 'grant' | 'registration'>,
  issuer: string,
): Promise<string | undefined> {
  if (!isMachineGrant(grant)) return undefined;
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const text = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', text.encode(accessToken), algorithm, false, ['sign']);
  const shown = text.encode(credentialOf(clientAt(registration, issuer)));
  return base64url(new Uint8Array(await crypto.subtle.sign(algorithm.name, key, shown)));
}

/** Names of keys in this process: a private key cannot be read, so that no other process knows it again. */
const keyNames = new WeakMap<object, string>();

function credentialOf(client: PreregisteredClient | null): string {
  const { signingKey, clientSecret } = client ?? {};
  if (signingKey === undefined) return JSON.stringify(['secret', clientSecret ?? null]);
  const name = keyNames.get(signingKey.key) ?? crypto.randomUUID();
  keyNames.set(signingKey.key, name);
  return JSON.stringify(['key', name, clientSecret ?? null]);
}

/** The configured client that is meant for an issuer. */
function clientAt({ preregistered = [] }: RegistrationSettings, issuer: string): PreregisteredClient | null {
  return preregistered.find((client) => client.issuer === undefined || client.issuer === issuer) ?? null;
}
