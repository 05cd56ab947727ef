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
