/** The accounts that commands name or list. */
import type { AccountAdministration, ListedAccount } from '@portcullis/authorization-server';
import { cleanLine } from '../terminal/clean.ts';

/** @throws Error for an unknown one */
export async function requireAccount(accounts: AccountAdministration, named: string): Promise<ListedAccount> {
  const account = await accounts.find(named);
  return account ?? refuseAccount(named);
}

export function refuseAccount(named: string): never {
  throw new Error(`There is no account for ${cleanLine(named)}`);
}

/** All accounts, page by page. */
export async function* allAccounts(accounts: AccountAdministration): AsyncGenerator<ListedAccount> {
  for (let page = await accounts.list(); page.length > 0; page = await accounts.list(page.at(-1)?.emailKey))
    yield* page;
}

/** Those that can sign in. */
export async function* enabledAccounts(accounts: AccountAdministration): AsyncGenerator<ListedAccount> {
  for await (const account of allAccounts(accounts)) if (account.disabledAt === null) yield account;
}
