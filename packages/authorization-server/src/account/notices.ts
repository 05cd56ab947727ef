/** What has just happened to an account, carried by the address of its page as a name of ours. */

import { accountPaths } from '../ui/account-tabs.ts';
import { type AccountNotice, accountNotices } from './overview-view.ts';

/** The account page, telling what has just happened. */
export function accountNoticePath(news: AccountNotice): string {
  return `${accountPaths.account}?news=${news}`;
}

export function readAccountNotice(name: string | undefined): AccountNotice | null {
  return accountNotices.find((news) => news === name) ?? null;
}
