/** Somebody with an account in front of a real browser. */
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { Account, Decision, Person } from './person.ts';

export interface ChromiumPerson extends Person {
  readonly context: BrowserContext;
}

export interface BrowserHabits {
  readonly javaScriptEnabled?: boolean;
}

/** Milliseconds for each page and each answer to it. */
const PATIENCE = 10_000;

/**
 * A person with a browser profile of their own. The client has to listen at its redirect URI: a browser really goes there.
 * `authorize` resolves when the page there has answered.
 */
export async function openBrowserFor(
  account: Account,
  browser: Browser,
  habits: BrowserHabits = {},
): Promise<ChromiumPerson> {
  const context = await browser.newContext({ ...habits });
  return {
    context,
    async authorize(url, decision = 'allow') {
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE);
      try {
        await page.goto(String(url));
        await signIn(page, account);
        return await decide(page, decision);
      } finally {
        await page.close();
      }
    },
  };
}

async function signIn(page: Page, { email, password }: Account): Promise<void> {
  const field = page.locator('input[name=password]');
  if ((await field.count()) === 0) return;
  await page.locator('input[name=email]').fill(email);
  await field.fill(password);
  await field.press('Enter');
}

async function decide(page: Page, decision: Decision): Promise<URL> {
  const { origin } = new URL(page.url());
  await page.locator(`button[name=decision][value=${decision}]`).click();
  await page.waitForURL((url) => url.origin !== origin);
  return new URL(page.url());
}
