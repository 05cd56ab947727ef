/** By which way somebody signs in for a flow: here, or by a third party. */
import type { Person } from '../accounts/sessions.ts';
import type { Configuration } from '../configuration.ts';
import type { People } from './people.ts';
import type { ThirdParty } from './third-party.ts';

interface Way {
  /** `null`: here; or the person has still to choose. */
  readonly thirdParty: ThirdParty | null;
  /** Whether whoever is signed in has come by this way, and may act. */
  readonly admits: boolean;
}

/** @param chosen the identifier of the third party that was chosen for the flow */
export type WayOf = (chosen: string | null, person: Person | null) => Promise<Way>;

export function createWayOf(
  { thirdParties, localAccounts }: Pick<Configuration, 'thirdParties' | 'localAccounts'>,
  people: People,
): WayOf {
  const [first = null] = thirdParties.values();
  const only = !localAccounts && thirdParties.size === 1 ? first : null;
  return async (chosen, person) => {
    if (thirdParties.size === 0) return { thirdParty: null, admits: true };
    const own = person === null ? 'nobody' : await people.thirdPartyOf(person.account.id);
    const picked = chosen === null ? undefined : thirdParties.get(chosen);
    if (picked !== undefined) return { thirdParty: picked, admits: own === picked };
    // Whoever signed in by a third party goes on with it: each grant rests on something of its own.
    if (typeof own === 'object' && own !== null) return { thirdParty: own, admits: true };
    if (own === null && localAccounts) return { thirdParty: null, admits: true };
    return { thirdParty: only, admits: false };
  };
}
