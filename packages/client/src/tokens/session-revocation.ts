/** Revokes sessions at the authorization server: on sign-out, and when a newer sign-in has replaced one. */
import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { ClientError } from '../errors.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialRecord } from '../storage/credentials.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { revokeTokens } from '../token-endpoint/revocation.ts';

export type SessionRevocation = ReturnType<typeof createSessionRevocation>;

/** Creates the session revocation of a client. */
export function createSessionRevocation(
  { emit }: Pick<ClientSettings, 'emit'>,
  serverDiscovery: ServerDiscovery,
  registrations: StoredRegistrations,
  context: TokenEndpointContext,
) {
  return {
    /** Revokes the tokens of a record that was already removed. Returns whether the server accepted; never throws. */
    async revoke(record: CredentialRecord): Promise<boolean> {
      try {
        return await revokeAt(await serverDiscovery.discover(), record);
      } catch {
        // The credentials are removed here in any case.
        return false;
      }
    },
    /** Revokes tokens that newer ones have replaced, with a fresh discovery where none is given. Never throws. */
    async revokeReplaced(replaced: CredentialRecord, discovery?: DiscoveryResult): Promise<void> {
      const { issuer } = replaced.key;
      try {
        await revokeIfIndependent(replaced, discovery ?? (await serverDiscovery.discover()));
      } catch (error) {
        const reason = error instanceof ClientError ? error.message : 'the server did not respond';
        emit({ type: 'session.revocation_failed', issuer, reason });
      }
    },
  };

  async function revokeAt({ issuer, metadata }: DiscoveryResult, record: CredentialRecord): Promise<boolean> {
    const { tokens, key } = record;
    const registration = tokens === null ? null : registrations.forTokens(record, tokens);
    const endpoint = metadata.revocation_endpoint;
    if (tokens === null || registration === null) return false;
    if (endpoint === undefined || issuer !== key.issuer) return false;
    await revokeTokens(context, { endpoint, issuer, registration, tokens });
    return true;
  }

  /**
   * The revocation of a particular token may cause the revocation of related tokens and the underlying authorization
   * grant. If a server has one grant per user and client, that would end the new session too, so replaced tokens
   * are only revoked at servers that say otherwise.
   * @see RFC 7009 §2.1
   */
  async function revokeIfIndependent(replaced: CredentialRecord, discovery: DiscoveryResult): Promise<void> {
    if (discovery.metadata.revocation_leaves_other_grants === true) await revokeAt(discovery, replaced);
  }
}
