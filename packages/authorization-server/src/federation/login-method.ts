/** By which way somebody signs in for a flow: here, or by a third party. */

import type { ServerOptions } from '../options.ts';
import type { User } from '../users/sessions.ts';
import type { IdentityProvider } from './identity-provider.ts';
import type { LinkedUsers } from './linked-users.ts';

interface LoginMethod {
  /** `null`: here; or the person has still to choose. */
  readonly identityProvider: IdentityProvider | null;
  /** Whether whoever is signed in has come by this way, and may act. */
  readonly isSatisfied: boolean;
}

/** @param chosen the identifier of the third party that was chosen for the flow */
export type ResolveLoginMethod = (chosen: string | null, user: User | null) => Promise<LoginMethod>;

export function createResolveLoginMethod(
  { identityProviders, localAccounts }: Pick<ServerOptions, 'identityProviders' | 'localAccounts'>,
  users: LinkedUsers,
): ResolveLoginMethod {
  const [first = null] = identityProviders.values();
  const only = !localAccounts && identityProviders.size === 1 ? first : null;
  return async (chosen, user) => {
    if (identityProviders.size === 0) return { identityProvider: null, isSatisfied: true };
    const own = user === null ? 'nobody' : await users.identityProviderOf(user.account.id);
    const picked = chosen === null ? undefined : identityProviders.get(chosen);
    if (picked !== undefined) return { identityProvider: picked, isSatisfied: own === picked };
    // Whoever signed in by a third party goes on with it: each grant rests on something of its own.
    if (typeof own === 'object' && own !== null) return { identityProvider: own, isSatisfied: true };
    if (own === null && localAccounts) return { identityProvider: null, isSatisfied: true };
    return { identityProvider: only, isSatisfied: false };
  };
}
