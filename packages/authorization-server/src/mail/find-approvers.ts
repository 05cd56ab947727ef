/** The users who decide about a call by a group, wherever they have it from. */
import { toNfkc } from '@portcullis/protocol';
import { mayDecide } from '../approvals/rules.ts';
import type { AuthorizationStore } from '../store/index.ts';
import { readUserClaims } from '../users/user-claims.ts';

/** Profiles read at a time, so that other requests are served in between. */
const BATCH = 500;
/** Members read of a provisioned group. */
const MAX_MEMBERS = 1000;
/** Provisioned groups of one name. */
const MAX_GROUPS = 20;

/**
 * Reads the profiles of all accounts, page by page: for what is done once in a while, and not for a request.
 * @param identityProviders those that may provision groups @param most accounts at most
 */
export async function findApprovers(
  store: AuthorizationStore,
  groups: readonly string[],
  identityProviders: Iterable<string>,
  most: number,
): Promise<readonly string[]> {
  const found = new Set<string>();
  for await (const accountId of candidates(store, groups, identityProviders)) {
    if (found.size >= most) break;
    const { groups: known = [] } = await readUserClaims(store, accountId, ['groups']);
    // No subject: who decides by a group does so for all users.
    if (mayDecide({ subject: '', approverGroups: groups }, { accountId, groups: known }))
      found.add(accountId);
  }
  return [...found];
}

async function* candidates(
  store: AuthorizationStore,
  groups: readonly string[],
  identityProviders: Iterable<string>,
): AsyncGenerator<string> {
  for (const identityProvider of identityProviders) {
    for (const name of groups) yield* provisionedMembers(store, identityProvider, name);
  }
  for (let page = await store.listProfileGroups('', BATCH); page.length > 0; ) {
    for (const { accountId, groups: own } of page)
      if (own.some((one) => groups.includes(one))) yield accountId;
    page = await store.listProfileGroups(page.at(-1)?.accountId ?? '', BATCH);
  }
}

async function* provisionedMembers(
  store: AuthorizationStore,
  identityProvider: string,
  name: string,
): AsyncGenerator<string> {
  // Names are found without case, as in filters.
  const value = toNfkc(name).toLowerCase();
  const filter = { by: 'key', key: { attribute: 'displayName', value } } as const;
  const page = { after: '', skip: 0, limit: MAX_GROUPS };
  for (const group of await store.listProvisioned(identityProvider, 'Group', filter, page)) {
    if (group.name !== name) continue;
    for (const { id } of await store.listProvisionedMembers(group.id, MAX_MEMBERS)) {
      const user = await store.findProvisioned(identityProvider, 'User', id);
      if (user !== null && user.accountId !== null) yield user.accountId;
    }
  }
}
