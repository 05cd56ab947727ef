/** Iterates over accounts, and the groups that they are in. */
import {
  type AccountAdministration,
  createAccountAdministration,
  type ListedAccount,
} from '@portcullis/authorization-server';
import type { AuthorizationStore } from '@portcullis/authorization-server/store';
import * as z from 'zod';

/** The accounts of a store to find and read: that records no event, and needs no time. */
export function createAccountReading(
  store: AuthorizationStore,
): Pick<AccountAdministration, 'find' | 'claims'> {
  return createAccountAdministration({ store, issuer: '', clock: () => 0, events: () => {} });
}

/** Why there are no invitations and reset links. */
export const NO_LOCAL_ACCOUNTS =
  'The setting localAccounts is false: users get an account when they first sign in at an identity provider, and have no password here.';

/** All accounts, page by page. */
export async function* allAccounts(accounts: AccountAdministration): AsyncGenerator<ListedAccount> {
  for (let page = await accounts.list(); page.length > 0; page = await accounts.list(page.at(-1)?.emailKey))
    yield* page;
}

/** Those that can sign in. */
export async function* enabledAccounts(accounts: AccountAdministration): AsyncGenerator<ListedAccount> {
  for await (const account of allAccounts(accounts)) if (account.disabledAt === null) yield account;
}

export const groupSchema = z
  .object({
    name: z.string(),
    members: z.array(z.object({ id: z.string(), email: z.string() })),
    origins: z
      .object({ operator: z.int(), 'sign-in': z.int(), scim: z.int() })
      .describe('how many members have it from where; one may have it from several'),
  })
  .meta({ id: 'Group' });

/** A group of users. */
export type Group = z.infer<typeof groupSchema>;

const NONE: Group['origins'] = { operator: 0, 'sign-in': 0, scim: 0 };

/** The groups of the accounts that can sign in, by name. */
export async function findGroups(accounts: AccountAdministration): Promise<readonly Group[]> {
  const found = new Map<string, Group>();
  for await (const { id, email } of enabledAccounts(accounts)) {
    for (const { name, origin } of await accounts.groups(id)) {
      const { members, origins } = found.get(name) ?? { members: [], origins: NONE };
      const isKnown = members.at(-1)?.id === id;
      found.set(name, {
        name,
        members: isKnown ? members : [...members, { id, email }],
        origins: { ...origins, [origin]: origins[origin] + 1 },
      });
    }
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
