/** A user with an account in a real browser. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { untilPainted } from '../../scripts/gallery/paint.ts';
import type { Account, Decision, ProviderLogin, User } from './user.ts';

export interface ChromiumUser extends User {
  readonly context: BrowserContext;
}

export interface BrowserHabits {
  readonly javaScriptEnabled?: boolean;
  /** Picks this identity provider whenever there is a choice, and completes its page too. */
  readonly elsewhere?: ProviderLogin;
}

/**
 * A user with a browser profile of their own. The client must listen at its redirect URI, because the browser follows the redirect.
 * `authorize` resolves when the page there has loaded.
 */
export async function openBrowserFor(
  account: Account,
  browser: Browser,
  habits: BrowserHabits = {},
): Promise<ChromiumUser> {
  const { elsewhere, ...settings } = habits;
  const context = await browser.newContext(settings);
  return {
    context,
    async authorize(url, decision = 'allow') {
      const page = await context.newPage();
      try {
        await page.goto(String(url));
        await untilPainted(page);
        if (elsewhere === undefined) await signIn(page, account);
        else await choose(page, elsewhere);
        return await decide(page, decision, elsewhere);
      } finally {
        await page.close();
      }
    },
  };
}

async function signIn(page: Page, { email, password }: Account): Promise<void> {
  const address = page.locator('input[name=email]:not([readonly])');
  const field = page.locator('input[name=password]');
  if ((await address.count()) === 0) return;
  await address.fill(email);
  // Beside identity providers, the page asks for the address first.
  if ((await field.count()) === 0) await address.press('Enter');
  await field.fill(password);
  await field.press('Enter');
}

/** With a single identity provider there is no choice. */
async function choose(page: Page, { id }: ProviderLogin): Promise<void> {
  const button = page.locator(`button[formaction="/login/${id}"]`);
  if ((await button.count()) > 0) await button.click();
}

async function decide(page: Page, decision: Decision, elsewhere: ProviderLogin | undefined): Promise<URL> {
  const { origin } = new URL(page.url());
  await page.locator(`button[name=decision][value=${decision}]`).click();
  if (elsewhere !== undefined && decision === 'allow') await answerThere(page, elsewhere);
  await page.waitForURL((url) => url.origin !== origin && url.origin !== elsewhere?.origin);
  return new URL(page.url());
}

async function answerThere(
  page: Page,
  { origin, login, password, decision = 'allow' }: ProviderLogin,
): Promise<void> {
  await page.waitForURL((url) => url.origin === origin);
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill(password);
  await page.locator(`button[name=answer][value=${decision}]`).click();
}
