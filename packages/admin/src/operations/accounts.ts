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

/** The groups of the accounts that can sign in, by name. */
export async function findGroups(accounts: AccountAdministration): Promise<readonly Group[]> {
  const memberships: { name: string; origin: keyof Group['origins']; id: string; email: string }[] = [];
  for await (const { id, email } of enabledAccounts(accounts))
    for (const membership of await accounts.groups(id)) memberships.push({ ...membership, id, email });
  const groups = [...Map.groupBy(memberships, ({ name }) => name)].map(([name, own]) => {
    const members = new Map(own.map(({ id, email }) => [id, { id, email }]));
    const countFrom = (origin: keyof Group['origins']) => own.filter((one) => one.origin === origin).length;
    const origins = {
      operator: countFrom('operator'),
      'sign-in': countFrom('sign-in'),
      scim: countFrom('scim'),
    };
    return { name, members: [...members.values()], origins };
  });
  return groups.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
