/** By which way somebody signs in for a flow: here, or by a third party. */

import type { Configuration } from '../configuration.ts';
import type { User } from '../users/sessions.ts';
import type { Users } from './people.ts';
import type { IdentityProvider } from './third-party.ts';

interface Way {
  /** `null`: here; or the person has still to choose. */
  readonly identityProvider: IdentityProvider | null;
  /** Whether whoever is signed in has come by this way, and may act. */
  readonly admits: boolean;
}

/** @param chosen the identifier of the third party that was chosen for the flow */
export type WayOf = (chosen: string | null, user: User | null) => Promise<Way>;

export function createWayOf(
  { identityProviders, localAccounts }: Pick<Configuration, 'identityProviders' | 'localAccounts'>,
  users: Users,
): WayOf {
  const [first = null] = identityProviders.values();
  const only = !localAccounts && identityProviders.size === 1 ? first : null;
  return async (chosen, user) => {
    if (identityProviders.size === 0) return { identityProvider: null, admits: true };
    const own = user === null ? 'nobody' : await users.identityProviderOf(user.account.id);
    const picked = chosen === null ? undefined : identityProviders.get(chosen);
    if (picked !== undefined) return { identityProvider: picked, admits: own === picked };
    // Whoever signed in by a third party goes on with it: each grant rests on something of its own.
    if (typeof own === 'object' && own !== null) return { identityProvider: own, admits: true };
    if (own === null && localAccounts) return { identityProvider: null, admits: true };
    return { identityProvider: only, admits: false };
  };
}
