/** Saves the profile of a user, and records what changed of it: groups decide what a user may do. */
import type { StoreContext } from '../context.ts';
import type { UserProfile } from '../store/index.ts';

/**
 * @param identityProvider whose sign-in the profile comes from; `null`: an operator set it
 * @returns `false` for an unknown account
 */
export async function saveProfile(
  { store, events }: Pick<StoreContext, 'store' | 'events'>,
  accountId: string,
  profile: UserProfile,
  identityProvider: string | null,
): Promise<boolean> {
  const before = await store.findProfile(accountId);
  const { groups: previousGroups = [], name: previousName = null } = before ?? {};
  const { groups, name } = profile;
  if (!(await store.saveProfile(accountId, profile))) return false;
  const isOther = JSON.stringify(groups.toSorted()) !== JSON.stringify(previousGroups.toSorted());
  // The name is personal data, and nothing depends on it: what a sign-in says of it is not recorded.
  if (isOther || (identityProvider === null && name !== previousName))
    events({
      type: 'account.profile_changed',
      accountId,
      groups,
      previousGroups,
      ...(identityProvider !== null && { identityProvider }),
    });
  return true;
}
