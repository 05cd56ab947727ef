/** Everything that users do on the pages, by keyboard alone: no mouse, and no script except for passkeys. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Gallery, openGallery, PASSWORD } from '../../scripts/gallery/gallery.ts';
import { untilPainted } from '../../scripts/gallery/paint.ts';
import { launchChromium } from '../support/browser.ts';
import { type Callback, openCallback } from '../support/callback.ts';

let browser: Browser;
let gallery: Gallery;
/** The same with identity providers. */
let both: Gallery;
let callback: Callback;

beforeAll(async () => {
  [browser, gallery, both, callback] = await Promise.all([
    launchChromium(),
    openGallery('full'),
    openGallery('both'),
    openCallback(),
  ]);
});

afterAll(async () => {
  await browser.close();
  callback.close();
  await gallery.close();
  await both.close();
});

/** What has the focus: its name in forms, or what is read of it. */
const FOCUS = `(() => {
  const { name, value, textContent, type } = document.activeElement;
  return type === 'checkbox' ? value : name && type !== 'submit' ? name : textContent.trim();
})()`;

/** Goes on by Tab until something has the focus. */
async function tabTo(page: Page, what: string): Promise<void> {
  const met: unknown[] = [];
  for (let n = 0; n < 40; n += 1) {
    const focused = await page.evaluate(FOCUS);
    if (focused === what) return;
    met.push(focused);
    await page.keyboard.press('Tab');
  }
  throw new Error(`${what} was not met among: ${met.join(' | ')}`);
}

async function press(page: Page, what: string): Promise<void> {
  await tabTo(page, what);
  await page.keyboard.press('Enter');
}

async function type(page: Page, field: string, text: string): Promise<void> {
  await tabTo(page, field);
  await page.keyboard.type(text);
}

/** Waits for a page, and for the focus that it begins with, if it has one. */
async function on(page: Page, heading: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
  if ((await page.locator('[autofocus]').count()) > 0) await page.locator('[autofocus]:focus').waitFor();
  await untilPainted(page);
}

async function enter(javaScriptEnabled = false): Promise<Page> {
  const context = await browser.newContext({ javaScriptEnabled, locale: 'en-GB' });
  onTestFinished(() => context.close());
  return context.newPage();
}

/** Makes an account of their own for a test, by the keyboard too. */
async function join(page: Page, email: string): Promise<void> {
  await page.goto(await gallery.invite(email));
  await on(page, 'Choose how to sign in');
  await type(page, 'password', PASSWORD);
  await type(page, 'password_again', PASSWORD);
  await press(page, 'Save and sign in');
  await on(page, 'Your account is ready');
}

describe('by the keyboard alone', () => {
  it('a user joins, chooses what an app may do, reviews it, ends it, and signs out by keyboard', async () => {
    const page = await enter();
    await join(page, 'keys@example.com');
    const redirect_uri = callback.url;
    await page.goto(gallery.url({ client_id: 'desk', redirect_uri, scope: 'read write share' }));
    await on(page, 'Writing Desk wants to use Notes');
    await tabTo(page, 'share');
    await page.keyboard.press('Space');
    await press(page, 'Allow access');
    await page.waitForURL(`${redirect_uri}?**`);
    await gallery.redeem(new URL(page.url()), 'desk');

    await page.goto(`${gallery.issuer}/connections`);
    await on(page, 'Apps with access');
    const summary = (await page.locator('summary').textContent())?.trim() ?? '';
    await press(page, summary);
    expect(await page.locator('.permissions li').allTextContents()).toEqual([
      'Read your notes',
      'Add and change your notes',
    ]);
    await press(page, 'Remove access');
    await on(page, 'Remove access for Writing Desk?');
    await press(page, 'Cancel');
    await on(page, 'Apps with access');
    await press(page, (await page.locator('summary').textContent())?.trim() ?? '');
    await press(page, 'Remove access');
    await on(page, 'Remove access for Writing Desk?');
    await press(page, 'Remove access');
    await page.getByText('Access has been removed.').waitFor();
    await press(page, 'Account');
    await on(page, 'Your account');
    await press(page, 'Sign out');
    await on(page, 'You are signed out');
  });

  it('a user picks a workspace and declines by keyboard', async () => {
    const page = await enter();
    await join(page, 'board@example.com');
    await page.goto(gallery.url({ client_id: 'desk', redirect_uri: callback.url, resource: gallery.board }));
    await on(page, 'Writing Desk wants to use Board');
    await tabTo(page, 'workspace');
    await page.keyboard.type('Arch');
    expect(await page.locator('[name=workspace]').inputValue()).toBe('w2');
    await press(page, 'Cancel');
    await page.waitForURL(`${callback.url}?error=access_denied**`);
  });

  it('a user changes the password, enables TOTP, renews recovery codes, and signs in with one by keyboard', async () => {
    const page = await enter();
    await join(page, 'change@example.com');
    await page.goto(`${gallery.issuer}/account`);
    await press(page, 'Change');
    await on(page, 'Change password');
    await type(page, 'current', PASSWORD);
    await type(page, 'password', `${PASSWORD} and more`);
    await type(page, 'password_again', `${PASSWORD} and more`);
    await tabTo(page, 'end');
    await page.keyboard.press('Space');
    await press(page, 'Change');
    await page.getByText('The password was changed.').waitFor();

    await press(page, 'Set up an authenticator app');
    await on(page, 'Two-step verification');
    await type(page, 'password', `${PASSWORD} and more`);
    await press(page, 'Continue');
    await page.locator('.picture').waitFor();
    await on(page, 'Two-step verification');
    const secret = ((await page.locator('p code').textContent()) ?? '').replaceAll(' ', '');
    await type(page, 'code', gallery.codeOf(secret));
    await press(page, 'Turn on');
    await on(page, 'Save these recovery codes');
    const first = (await page.locator('.codes code').first().textContent()) ?? '';
    await press(page, 'I have saved them');
    await on(page, 'Your account');
    await press(page, 'New recovery codes');
    await on(page, 'New recovery codes');
    await type(page, 'code', first);
    await press(page, 'Show codes');
    await on(page, 'Save these recovery codes');
    const fresh = (await page.locator('.codes code').first().textContent()) ?? '';
    await press(page, 'I have saved them');
    await on(page, 'Your account');
    await press(page, 'Sign out');
    await on(page, 'You are signed out');

    await page.goto(`${gallery.issuer}/login?to=account`);
    await on(page, 'Sign in');
    await type(page, 'email', 'change@example.com');
    await type(page, 'password', `${PASSWORD} and more`);
    await page.keyboard.press('Enter');
    await on(page, 'Enter your code');
    await type(page, 'code', fresh);
    await page.keyboard.press('Enter');
    await on(page, 'Your account');
    await press(page, 'Turn off');
    await on(page, 'Two-step verification');
    await type(page, 'password', `${PASSWORD} and more`);
    await page.keyboard.press('Enter');
    await page.getByText('Two-step verification is off.').waitFor();
  });

  it.each([
    ['for an app', true],
    ['for their own account', false],
  ])('a user continues to an identity provider by keyboard, %s', async (_why, isForApp) => {
    const page = await enter();
    await page.goto(isForApp ? both.url({ client_id: 'desk' }) : `${both.issuer}/login?to=account`);
    await on(page, 'Sign in');
    await tabTo(page, 'HHContinue with Harbour Hub');
    // Nothing listens there; the browser tries, and no policy prevents it.
    const left = page.waitForRequest((request) => request.url().startsWith('https://hub.example/authorize?'));
    await page.keyboard.press('Enter');
    if (isForApp) {
      await on(page, 'Writing Desk wants to use Notes');
      await press(page, 'Allow access');
    }
    expect(new URL((await left).url()).searchParams.get('client_id')).toBe('library');
  });

  it('a user switches the language and reads a form error by keyboard', async () => {
    const page = await enter();
    await page.goto(gallery.url({ client_id: 'desk' }));
    await on(page, 'Sign in');
    await type(page, 'email', 'unknown@example.com');
    await type(page, 'password', 'not a password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    await page.locator('#password:focus').waitFor();
    expect(await page.locator('#password').getAttribute('aria-describedby')).toBe('password-wrong');
    await press(page, 'Deutsch');
    await on(page, 'Anmelden');
  });
});
