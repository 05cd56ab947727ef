/** What has just happened to an account, carried by the address of its page as a name of ours. */
import { type AccountNews, accountNews } from '../pages/account.ts';
import { homePaths } from '../pages/tabs.ts';

/** The account page, telling what has just happened. */
export function newsPath(news: AccountNews): string {
  return `${homePaths.account}?news=${news}`;
}

export function readNews(name: string | undefined): AccountNews | null {
  return accountNews.find((news) => news === name) ?? null;
}
