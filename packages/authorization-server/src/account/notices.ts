/** Notices on the account page about what has just changed, named in its query. */

import { accountPaths } from '../ui/account-tabs.ts';
import { type AccountNotice, accountNotices } from './overview-view.ts';

/** The account page with a notice. */
export function accountNoticePath(news: AccountNotice): string {
  return `${accountPaths.account}?news=${news}`;
}

export function readAccountNotice(name: string | undefined): AccountNotice | null {
  return accountNotices.find((news) => news === name) ?? null;
}
