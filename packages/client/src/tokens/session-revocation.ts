/** Ending sessions at the authorization server: one that a person signs out of, and one that a newer sign-in has replaced. */

import type { DiscoveryResult } from '../discovery/discovery-result.ts';
import type { ServerDiscovery } from '../discovery/server-discovery.ts';
import { ClientError } from '../errors.ts';
import type { StoredRegistrations } from '../registration/stored-registrations.ts';
import type { ClientSettings } from '../settings.ts';
import type { CredentialRecord } from '../storage/credential-store.ts';
import type { TokenEndpointContext } from '../token-endpoint/endpoint-request.ts';
import { revokeTokens } from '../token-endpoint/revocation.ts';

export interface SessionRevocation {
  /** Revokes the tokens of a record that is gone from here already. Tells whether the server took it; never throws. */
  revoke(record: CredentialRecord): Promise<boolean>;
  /** Ends what newer tokens have replaced. Never throws. */
  endReplaced(replaced: CredentialRecord, discovery: DiscoveryResult): Promise<void>;
  /** The same after a sign-in in two halves, whose discovery was long ago. Never throws. */
  endEarlier(replaced: CredentialRecord): Promise<void>;
}

/** What sessions are ended with. */
interface EndingHands {
  readonly finder: ServerDiscovery;
  readonly registry: StoredRegistrations;
  readonly tokens: TokenEndpointContext;
}

/** Makes the room. */
export function createSessionRevocation(
  { emit: tell }: ClientSettings,
  hands: EndingHands,
): SessionRevocation {
  const { finder, registry, tokens: tokenHands } = hands;

  return {
    async revoke(record) {
      try {
        return await revokeAt(await finder.discover(), record);
      } catch {
        // The credentials are gone from here all the same.
        return false;
      }
    },
    endReplaced,
    async endEarlier(replaced) {
      try {
        await endReplaced(replaced, await finder.discover());
      } catch (error) {
        tellItStands(replaced.key.issuer, error, 'it could not be asked');
      }
    },
  };

  async function revokeAt({ issuer, metadata }: DiscoveryResult, record: CredentialRecord): Promise<boolean> {
    const registration = record.tokens === null ? null : registry.forTokens(record, record.tokens);
    const endpoint = metadata.revocation_endpoint;
    if (record.tokens === null || registration === null) return false;
    if (endpoint === undefined || issuer !== record.key.issuer) return false;
    await revokeTokens(tokenHands, { endpoint, issuer, registration, tokens: record.tokens });
    return true;
  }

  /**
   * The revocation of a particular token may cause the revocation of related tokens and the underlying authorization
   * grant: where all of a person's tokens are one grant, the new ones would end with the old. Only a server that says
   * otherwise is asked.
   * @see RFC 7009 §2.1
   */
  async function endReplaced(replaced: CredentialRecord, discovery: DiscoveryResult): Promise<void> {
    if (discovery.metadata.revocation_leaves_other_grants !== true) return;
    try {
      await revokeAt(discovery, replaced);
    } catch (error) {
      tellItStands(discovery.issuer, error, 'it did not answer');
    }
  }

  function tellItStands(issuer: string, error: unknown, otherwise: string): void {
    const reason = error instanceof ClientError ? error.message : otherwise;
    tell({ type: 'session.revocation_failed', issuer, reason });
  }
}
