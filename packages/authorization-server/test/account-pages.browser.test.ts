/** The account pages in Chromium: connections, sessions, account links, and passkeys of a virtual authenticator. */
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { untilPainted } from '../../../scripts/gallery/paint.ts';
import { launchChromium } from '../../../tests/support/browser.ts';
import { hearComplaints } from '../../../tests/support/page-errors.ts';
import { visit } from '../../../tests/support/visit.ts';
import type { AuthorizationEvent } from '../src/index.ts';
import { hashSecret, newIdentifier, newSecret } from '../src/secrets.ts';
import { hotp } from '../src/users/totp.ts';
import { type ListeningServer, startListening } from './listening-server.ts';
import { EMAIL, PASSWORD, requestOf } from './visitor.ts';

const events: AuthorizationEvent[] = [];

const startStage = () =>
  startListening((issuer) => ({
    events: (event) => events.push(event),
    name: 'notes.example',
    resources: [
      {
        resource: `${issuer}/mcp`,
        name: 'Notes',
        scopes: { 'notes:read': 'Read your notes', 'notes:write': 'Add, change and delete your notes' },
        revocationDelay: 0,
      },
      { resource: 'https://files.example/mcp', name: 'Files', scopes: { 'files:read': 'Read your files' } },
    ],
  }));

let browser: Browser;
let stage: ListeningServer;

beforeAll(async () => {
  [browser, stage] = await Promise.all([launchChromium(), startStage()]);
});

afterAll(async () => {
  await browser.close();
  await stage.close();
});

interface User {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the browser complained of. */
  readonly complaints: string[];
}

async function enter(options: Parameters<Browser['newContext']>[0] = {}): Promise<User> {
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const complaints = hearComplaints(page);
  return { page, context, complaints };
}

/** A virtual authenticator that approves every request. */
async function plugIn({ context, page }: User): Promise<{ session: CDPSession; authenticatorId: string }> {
  const session = await context.newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { session, authenticatorId };
}

/** A browser without conditional mediation (passkey autofill). */
async function onlyByButton(context: BrowserContext): Promise<void> {
  await context.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = async () => false');
}

async function signIn(page: Page, path = '/login', email = EMAIL, password = PASSWORD): Promise<void> {
  await page.goto(stage.issuer + path);
  await page.fill('[name=email]', email);
  await page.fill('[name=password]', password);
  await untilPainted(page);
  await page.click('form[action="/login"] button');
  await page.waitForSelector('nav');
  await untilPainted(page);
}

/** Opens a page that asks for the password first. */
async function openConfirmed(page: Page, path: string, password = PASSWORD): Promise<void> {
  await page.goto(stage.issuer + path);
  await confirm(page, path, password);
}

async function confirm(page: Page, path: string, password = PASSWORD): Promise<void> {
  const form = page.locator(`form[action="${path}"]`, { has: page.locator('[name=password]') });
  await form.locator('[name=password]').fill(password);
  await untilPainted(page);
  await form.getByRole('button').click();
}

async function addPasskey(page: Page, name: string): Promise<void> {
  await openConfirmed(page, '/account/passkeys/add');
  await page.fill('[name=name]', name);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(/news=passkey-added/);
}

/** Stores a grant as the pages and the token endpoint would. */
async function connect(client_name: string, resource: string, scopes: readonly string[]): Promise<string> {
  const response = await fetch(`${stage.issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name,
      redirect_uris: ['http://127.0.0.1/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id } = (await response.json()) as { client_id: string };
  const verifier = newSecret();
  const request = {
    client_id,
    redirect_uri: 'http://127.0.0.1:9/cb',
    resource,
    scope: scopes.join(' '),
    code_challenge: hashSecret(verifier),
  };
  const answers = { email: EMAIL, password: PASSWORD, decision: 'allow' };
  const called = await visit(stage.issuer + requestOf(request), { answers });
  const code = new URL(called).searchParams.get('code') ?? '';
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    client_id,
    code_verifier: verifier,
  });
  expect((await fetch(`${stage.issuer}/token`, { method: 'POST', body })).status).toBe(200);
  return client_id;
}

/** The code that an authenticator app would show. */
function codeOf(secret: string, now: number): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const bits = [...secret].map((letter) => letters.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return hotp(Uint8Array.from(bytes), Math.floor(now / 30));
}

/** Enables MFA with a TOTP code. @returns one of the recovery codes */
async function setUpCodes(page: Page): Promise<string> {
  await page.goto(`${stage.issuer}/account/codes`);
  await page.getByRole('button', { name: 'Confirm with your passkey' }).click();
  await page.waitForSelector('[name=code]');
  const secret = (await page.locator('.fact code').textContent())?.replaceAll(' ', '') ?? '';
  await page.fill('[name=code]', codeOf(secret, Date.now() / 1000));
  await page.getByRole('button', { name: 'Turn on' }).click();
  await page.getByText('Save these recovery codes').waitFor();
  return (await page.locator('.codes code').first().textContent()) ?? '';
}

describe('connections', () => {
  it.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ])(
    'connections are listed, and removed one by one and all at once, %s',
    async (_how, javaScriptEnabled) => {
      await connect('Notes CLI', `${stage.issuer}/mcp`, ['notes:read', 'notes:write']);
      await connect('Desktop Assistant', `${stage.issuer}/mcp`, ['notes:read']);
      await connect('Filer', 'https://files.example/mcp', ['files:read']);
      const { page, complaints } = await enter({ javaScriptEnabled });
      await signIn(page, '/connections');
      await expect.poll(() => page.locator('.app').count()).toBe(3);
      await page.getByText('Notes CLI').click();
      await page.getByRole('link', { name: 'Remove access for Notes CLI' }).click();
      await page.getByRole('heading', { level: 1, name: 'Remove access for Notes CLI?' }).waitFor();
      await page.getByText('Access ends immediately.').waitFor();
      await page.getByRole('button', { name: 'Remove access' }).click();
      expect(await page.getByRole('status').textContent()).toBe('Access has been removed.');
      await expect.poll(() => page.locator('.app').count()).toBe(2);
      await page.getByRole('link', { name: 'Remove all access' }).click();
      await page.getByText('up to 10 minutes').waitFor();
      await page.getByRole('button', { name: 'Remove all' }).click();
      await page.getByText('No app has access to your account.').waitFor();
      expect(complaints).toEqual([]);
    },
  );
});

describe('passkeys', () => {
  it('passkeys are added, log in with and without an app, and are removed', async () => {
    const user = await enter();
    const { page, context, complaints } = user;
    const { session, authenticatorId } = await plugIn(user);
    await signIn(page);
    await addPasskey(page, 'My <laptop>');
    const credentials = await session.send('WebAuthn.getCredentials', { authenticatorId });
    expect(
      credentials.credentials.map(({ rpId, isResidentCredential }) => [rpId, isResidentCredential]),
    ).toEqual([['localhost', true]]);
    await page.getByText('My <laptop>').waitFor();

    // The virtual device accepts what the browser offers in the field of the address.
    await context.clearCookies();
    await page.goto(`${stage.issuer}/login?to=account`, { waitUntil: 'commit' });
    await page.waitForURL(`${stage.issuer}/account`);

    await onlyByButton(context);
    await context.clearCookies();
    await page.goto(`${stage.issuer}/login?to=account`);
    expect(await page.locator('.ways > form').first().getAttribute('data-passkey')).toBe('get');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL(`${stage.issuer}/account`);

    await context.clearCookies();
    await page.goto(
      stage.issuer + requestOf({ client_id: await registered(), redirect_uri: 'http://127.0.0.1:9/cb' }),
    );
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForSelector('[name=decision]');
    expect(complaints.filter((text) => !text.includes('127.0.0.1:9'))).toEqual([]);

    await page.goto(`${stage.issuer}/account`);
    await page.getByRole('button', { name: 'Remove My <laptop>' }).click();
    await confirm(page, '/account/passkeys/remove');
    await page.getByText('The passkey was removed.').waitFor();
    await context.clearCookies();
    await page.goto(`${stage.issuer}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey does not work here.').waitFor();
  });

  it('an account has several passkeys, but one device creates only one', async () => {
    const user = await enter();
    const { session, authenticatorId } = await plugIn(user);
    await signIn(user.page);
    await addPasskey(user.page, 'First');
    // With it, so that the password confirms.
    await user.context.clearCookies();
    await user.page.goto(`${stage.issuer}/login?to=account`, { waitUntil: 'commit' });
    await user.page.waitForURL(`${stage.issuer}/account`);
    await openConfirmed(user.page, '/account/passkeys/add');
    await user.page.waitForSelector('[name=name]');
    await user.page.getByRole('button', { name: 'Continue' }).click();
    await user.page.locator('[data-trouble]:visible').waitFor();
    await session.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
    await session.send('WebAuthn.disable');
    await plugIn(user);
    await addPasskey(user.page, 'Second');
    expect(await user.page.getByRole('button', { name: /^Remove / }).count()).toBe(2);
    for (const name of ['First', 'Second']) {
      const remove = user.page.getByRole('button', { name: `Remove ${name}` });
      await remove.click();
      await confirm(user.page, '/account/passkeys/remove');
      await user.page.getByText('The passkey was removed.').waitFor();
    }
  });

  it('an invited user chooses a passkey instead of a password', async () => {
    const answer = await stage.server.accounts.add('grace@example.org');
    const user = await enter();
    await plugIn(user);
    const { page, context } = user;
    await onlyByButton(context);
    await page.goto('link' in answer ? answer.link : '');
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('Your account is ready').waitFor();
    await context.clearCookies();
    await page.goto(`${stage.issuer}/login`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('grace@example.org').waitFor();
  });

  it('a reset that chooses a passkey has events of the removed one and of the new one', async () => {
    const added = await stage.server.accounts.add('hedy@example.org');
    const user = await enter();
    await plugIn(user);
    const { page, context } = user;
    await onlyByButton(context);
    await page.goto('link' in added ? added.link : '');
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('Your account is ready').waitFor();
    const account = await stage.store.findAccountByEmail('hedy@example.org');
    const accountId = account?.id ?? '';
    const [before] = await stage.store.listPasskeys(accountId);
    const reset = await stage.server.accounts.reset('hedy@example.org');
    await page.goto('link' in reset ? reset.link : '');
    events.length = 0;
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('You are signed out everywhere else.').waitFor();
    const [after] = await stage.store.listPasskeys(accountId);
    expect(after?.id).not.toBe(before?.id);
    expect(events.slice(0, 3)).toMatchObject([
      { type: 'account.link_used', accountId, purpose: 'reset' },
      { type: 'passkey.removed', accountId, passkeyId: before?.id },
      { type: 'passkey.added', accountId, passkeyId: after?.id },
    ]);
  });

  it('a passkey with user verification counts as two factors', async () => {
    const account = await stage.store.findAccountByEmail(EMAIL);
    onTestFinished(async () => void (await stage.store.removeTotpFactor(account?.id ?? '')));
    const user = await enter();
    const { page, context } = user;
    await onlyByButton(context);
    await plugIn(user);
    await signIn(page);
    await addPasskey(page, 'Phone');
    await setUpCodes(page);
    await context.clearCookies();
    await page.goto(`${stage.issuer}/login?to=account`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.waitForURL(`${stage.issuer}/account`);
    await page.getByRole('button', { name: 'Remove Phone' }).click();
    await page.getByRole('button', { name: 'Use a passkey instead' }).click();
    await page.getByText('The passkey was removed.').waitFor();
  });

  it('without JavaScript passkeys are not offered, and everything else works', async () => {
    const { page } = await enter({ javaScriptEnabled: false });
    await page.goto(`${stage.issuer}/login`);
    expect(await page.getByRole('button').allTextContents()).toEqual(['Sign in']);
    await signIn(page);
    await openConfirmed(page, '/account/passkeys/add');
    await page.getByText('This browser does not support passkeys on this page').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
  });
});

/** A dynamically registered app. */
async function registered(): Promise<string> {
  const id = newIdentifier('client');
  await stage.store.saveClient({
    id,
    origin: 'registered',
    metadata: {
      client_name: 'Notes CLI',
      redirect_uris: ['http://127.0.0.1/cb'],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
    secretHash: null,
    previousSecret: null,
    managementHash: null,
    disabledAt: null,
    enabledAt: null,
    verifiedAt: null,
    createdAt: 0,
    lastUsedAt: null,
    expiresAt: null,
  });
  return id;
}
