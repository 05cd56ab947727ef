/** The scopes of an access token. */
import { missingScopes, OAuthError, type ScopeHierarchy } from '@portcullis/protocol';
import type { Principal } from '@portcullis/resource-server';

/** @throws OAuthError `insufficient_scope`, for the challenge of the guard */
export function checkScope({ scopes }: Principal, scope: string, hierarchy: ScopeHierarchy): void {
  if (missingScopes([scope], scopes, hierarchy).length > 0)
    throw new OAuthError('insufficient_scope', `The token lacks the scope ${scope}.`, { scopes: [scope] });
}

/** Whether a client acts for itself: its tokens have no grant, and name no user. */
export function isOfClient({ subject, clientId, grantId }: Principal): boolean {
  return grantId === null && subject === clientId;
}
