/** The scenes of the screenshots: every page in the states that users meet. */
import type { BrowserContext, Page } from 'playwright-core';
import type { Connecting } from './backends.ts';
import { type Gallery, type GalleryKind, PASSWORD } from './gallery.ts';

export interface Scene {
  readonly name: string;
  /** In a browser without a session. */
  readonly fresh?: boolean;
  /** The server that shows it; by default the one with accounts. */
  readonly gallery?: GalleryKind;
  open(page: Page, context: BrowserContext, gallery: Gallery): Promise<void>;
}

const fill = async (page: Page, values: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, value] of Object.entries(values)) await page.fill(`[name=${name}]`, value);
};

/** Types the address, on a page of its own where there are identity providers. */
async function enterAddress(page: Page, email: string): Promise<void> {
  await fill(page, { email });
  if ((await page.locator('[name=password]').count()) > 0) return;
  await page.click('form[action="/login"] button');
  await page.waitForSelector('[name=password], .provider.main');
}

/** Opens an authorization request of a client, and signs in if required. */
async function ask(
  page: Page,
  { url }: Gallery,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  await page.goto(url(parameters));
  if (!page.url().includes('/login')) return;
  await enterAddress(page, 'ada@example.com');
  await fill(page, { password: PASSWORD });
  await page.click('form[action="/login"] button');
  await page.waitForSelector('[name=decision]');
}

const firstScenes: readonly Scene[] = [
  {
    name: 'setup',
    gallery: 'empty',
    open: async (page, _context, { setupLink }) => void (await page.goto(setupLink ?? '')),
  },
  {
    name: 'setup-failed',
    gallery: 'empty',
    async open(page, _context, { setupLink }) {
      await page.goto(setupLink ?? '');
      await fill(page, { email: 'ada@example.com', password: 'short', password_again: 'short' });
      await page.click('button');
      await page.waitForSelector('.wrong');
    },
  },
  {
    name: 'sign-in-no-account',
    gallery: 'empty',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/login?to=account`)),
  },
];

/** Grace’s TOTP secret and recovery codes, once she has enabled MFA. */
const grace: { recovery: string[] } = { recovery: [] };

async function enterCodePage(page: Page, { issuer }: Gallery): Promise<void> {
  await page.goto(`${issuer}/login?to=account`);
  await fill(page, { email: 'grace@example.com', password: PASSWORD });
  await page.click('form[action="/login"] button');
  // Requires a code once she has enabled MFA.
  await page.waitForSelector('nav, form[action="/login/code"]');
}

async function visitGrace(page: Page, gallery: Gallery): Promise<void> {
  await enterCodePage(page, gallery);
  if ((await page.locator('form[action="/login/code"]').count()) === 0) return;
  const [code] = grace.recovery.splice(0, 1);
  if (code === undefined) return;
  await fill(page, { code });
  await page.click('form[action="/login/code"] button');
  await page.waitForSelector('nav');
}

/** Opens a page that asks for the password first. */
async function openConfirmed(page: Page, gallery: Gallery, path: string): Promise<void> {
  await page.goto(gallery.issuer + path);
  const form = page.locator(`form[action="${path}"]`, { has: page.locator('[name=password]') });
  await form.locator('[name=password]').fill(PASSWORD);
  await form.locator('button').click();
}

async function switchCodesOn(page: Page, gallery: Gallery): Promise<void> {
  await openConfirmed(page, gallery, '/account/codes');
  await page.waitForSelector('[name=proof]', { state: 'attached' });
  const secret = (await page.locator('p code').textContent()) ?? '';
  await fill(page, { code: gallery.codeOf(secret.replaceAll(' ', '')) });
  await page.click('form[action="/account/codes"] button');
  await page.waitForSelector('.codes');
  grace.recovery = await page.locator('.codes code').allTextContents();
}

async function enterDeviceCode(page: Page, gallery: Gallery): Promise<void> {
  await page.goto(`${gallery.issuer}/device?user_code=${await gallery.deviceCode()}`);
  await page.click('form[action="/device"] button');
  await page.waitForSelector('[name=confirmed]', { state: 'attached' });
}

/** Follows the link of an error, and continues to the backend. */
async function openConnected(page: Page, gallery: Gallery, outcome: Connecting): Promise<void> {
  await page.goto(await gallery.connectLink());
  gallery.connecting = outcome;
  await page.click('form[action="/connect"] button');
  await page.waitForURL('**/connect/callback/**');
  gallery.connecting = 'connected';
}

/** A request for so many permissions that they are grouped. */
const ARCHIVE = ({ issuer }: Gallery) => ({ resource: `${issuer}/archive` });

export const scenes: readonly Scene[] = [
  ...firstScenes,
  {
    name: 'front',
    fresh: true,
    open: async (page, _context, { issuer }) => void (await page.goto(issuer)),
  },
  {
    name: 'sign-in',
    fresh: true,
    open: async (page, _context, { url }) => void (await page.goto(url({ client_id: 'desk' }))),
  },
  {
    name: 'sign-in-also-elsewhere',
    fresh: true,
    gallery: 'both',
    open: async (page, _context, { url }) => void (await page.goto(url({ client_id: 'desk' }))),
  },
  {
    name: 'sign-in-by-password',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { url }) {
      await page.goto(url({ client_id: 'desk' }));
      await enterAddress(page, 'ada@example.com');
    },
  },
  {
    name: 'sign-in-of-employees',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { url }) {
      await page.goto(url({ client_id: 'desk' }));
      await enterAddress(page, 'ada@lakeside.example');
    },
  },
  {
    name: 'sign-in-of-a-company',
    fresh: true,
    gallery: 'company',
    open: async (page, _context, { url }) => void (await page.goto(url({ client_id: 'desk' }))),
  },
  {
    name: 'sign-in-elsewhere',
    fresh: true,
    gallery: 'elsewhere',
    open: async (page, _context, { url }) => void (await page.goto(url({ client_id: 'desk' }))),
  },
  {
    name: 'sign-in-for-account',
    fresh: true,
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/login?to=account`)),
  },
  {
    name: 'identity-provider-away',
    fresh: true,
    gallery: 'elsewhere',
    async open(page, _context, { issuer }) {
      await page.goto(`${issuer}/login?to=account`);
      await page.click('[formaction="/login/mill"]');
      await page.waitForSelector('.reference');
    },
  },
  {
    name: 'consent-before-leaving',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { url, other }) {
      await page.goto(url({ client_id: other }));
      await page.click('[formaction="/login/hub"]');
      await page.waitForSelector('[name=decision]');
    },
  },
  {
    name: 'sign-in-failed',
    fresh: true,
    async open(page, _context, { url }) {
      await page.goto(url({ client_id: 'desk' }));
      await fill(page, { email: 'ada@example.com', password: 'not this one' });
      await page.click('form[action="/login"] button');
      await page.waitForSelector('.wrong');
    },
  },
  {
    name: 'consent-verified',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: 'planner' }),
  },
  {
    name: 'consent-unverified-on-this-computer',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: gallery.other }),
  },
  {
    name: 'consent-long-name-many-powers',
    open: (page, _context, gallery) =>
      ask(page, gallery, { client_id: gallery.talker, scope: 'read write share remove' }),
  },
  {
    name: 'consent-grouped',
    gallery: 'both',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: gallery.other, ...ARCHIVE(gallery) }),
  },
  {
    name: 'consent-grouped-opened',
    gallery: 'both',
    async open(page, _context, gallery) {
      await ask(page, gallery, { client_id: gallery.other, ...ARCHIVE(gallery) });
      await page.locator('.about > summary').click();
      await page.locator('.group.destroy > [role=switch]').check();
      await page.locator('.group.destroy summary').click();
    },
  },
  {
    name: 'consent-workspaces',
    open: (page, _context, gallery) =>
      ask(page, gallery, { client_id: gallery.other, resource: gallery.board }),
  },
  {
    name: 'consent-nothing-chosen',
    async open(page, _context, gallery) {
      await ask(page, gallery, { client_id: 'planner', scope: 'read write' });
      for (const box of await page.locator('[role=switch]').all()) await box.uncheck();
      await page.click('[value=allow]');
      await page.waitForSelector('.wrong');
    },
  },
  {
    name: 'consent-step-up',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: 'desk', scope: 'read share' }),
  },
  {
    name: 'consent-known',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: 'desk', scope: 'read' }),
  },
  {
    name: 'consent-needs-backends',
    gallery: 'linked',
    open: (page, _context, gallery) => ask(page, gallery, { client_id: gallery.other }),
  },
  {
    name: 'consent-withheld',
    gallery: 'linked',
    open: (page, _context, gallery) =>
      ask(page, gallery, { client_id: gallery.other, resource: `${gallery.issuer}/lending` }),
  },
  {
    name: 'connect',
    gallery: 'linked',
    open: async (page, _context, { connectLink }) => void (await page.goto(await connectLink())),
  },
  {
    name: 'connect-for-more-permissions',
    gallery: 'linked',
    open: async (page, _context, { connectLink }) =>
      void (await page.goto(await connectLink(['repository:contents:write', 'issues:read']))),
  },
  {
    name: 'connect-connected',
    gallery: 'linked',
    open: (page, _context, gallery) => openConnected(page, gallery, 'connected'),
  },
  {
    name: 'connect-declined',
    gallery: 'linked',
    open: (page, _context, gallery) => openConnected(page, gallery, 'declined'),
  },
  {
    name: 'connect-failed',
    gallery: 'linked',
    open: (page, _context, gallery) => openConnected(page, gallery, 'failed'),
  },
  {
    name: 'connect-used-link',
    gallery: 'linked',
    async open(page, _context, gallery) {
      const link = await gallery.connectLink();
      await openConnected(page, gallery, 'connected');
      await page.goto(link);
    },
  },
  {
    name: 'connect-other-account',
    gallery: 'linked',
    fresh: true,
    async open(page, _context, gallery) {
      // Grace signs in, who is another user in this gallery.
      await enterCodePage(page, gallery);
      await page.goto(await gallery.connectLink());
    },
  },
  {
    name: 'approval',
    gallery: 'linked',
    open: async (page, _context, gallery) => void (await page.goto(await gallery.requestApproval())),
  },
  {
    name: 'approval-opened',
    gallery: 'linked',
    async open(page, _context, gallery) {
      await page.goto(await gallery.requestApproval());
      await page.locator('.arguments summary').click();
      await page.locator('.arguments details[open]').waitFor();
    },
  },
  {
    name: 'approval-waiting',
    gallery: 'linked',
    open: async (page, _context, gallery) =>
      void (await page.goto(await gallery.requestApproval(['librarians', 'archivists']))),
  },
  {
    name: 'approval-granted',
    gallery: 'linked',
    async open(page, _context, gallery) {
      await page.goto(await gallery.requestApproval());
      await page.click('button[value=once]');
      await page.waitForSelector('.tick');
    },
  },
  {
    name: 'approval-denied',
    gallery: 'linked',
    async open(page, _context, gallery) {
      await page.goto(await gallery.requestApproval());
      await fill(page, { reason: 'They are still needed.' });
      await page.click('button[value=deny]');
      await page.waitForSelector('[name=reason]', { state: 'detached' });
    },
  },
  {
    name: 'approval-unknown',
    gallery: 'linked',
    open: async (page, _context, { issuer }) =>
      void (await page.goto(`${issuer}/approvals/${'x'.repeat(43)}`)),
  },
  {
    name: 'approval-queue',
    gallery: 'linked',
    async open(page, _context, gallery) {
      await gallery.requestApproval();
      await page.goto(`${gallery.issuer}/approvals`);
    },
  },
  {
    name: 'approval-sign-in',
    gallery: 'linked',
    fresh: true,
    async open(page, _context, gallery) {
      await page.goto(await gallery.requestApproval());
      await page.waitForURL('**/login?to=approvals');
    },
  },
  {
    name: 'connections-with-backends',
    gallery: 'linked',
    async open(page, _context, { issuer }) {
      await page.goto(`${issuer}/connections`);
      await page.locator('.app > summary', { hasText: 'Notes CLI' }).click();
      await page.locator('.app[open] > .opened').waitFor();
    },
  },
  {
    name: 'connections-end-with-backends',
    gallery: 'linked',
    async open(page, _context, { issuer }) {
      await page.goto(`${issuer}/connections`);
      const link = await page.locator('.app a.button').first().getAttribute('href');
      await page.goto(`${issuer}${link}`);
      await page.waitForSelector('form[action="/connections/end"]');
    },
  },
  {
    name: 'connections',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/connections`)),
  },
  {
    name: 'connections-end',
    async open(page, _context, gallery) {
      await page.goto(`${gallery.issuer}/connections`);
      const link = await page.locator('.app a.button').first().getAttribute('href');
      await page.goto(`${gallery.issuer}${link}`);
      await page.waitForSelector('form[action="/connections/end"]');
    },
  },
  {
    name: 'token-new',
    open: (page, _context, gallery) => openConfirmed(page, gallery, '/connections/new-token'),
  },
  {
    name: 'token-created',
    async open(page, _context, gallery) {
      await openConfirmed(page, gallery, '/connections/new-token');
      await fill(page, { name: 'Nightly build on build.lakeside.example' });
      await page.check('.grants [type=checkbox]');
      await page.click('form[action="/connections/new-token"] button');
      await page.waitForSelector('.copyable');
    },
  },
  {
    name: 'token-in-connections',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/connections`)),
  },
  {
    name: 'account',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/account`)),
  },
  {
    name: 'account-in-several-browsers',
    fresh: true,
    async open(page, context, gallery) {
      for (let others = 0; others < 2; others += 1) {
        await ask(page, gallery, { client_id: 'desk' });
        await context.clearCookies();
      }
      await ask(page, gallery, { client_id: 'desk' });
      await page.goto(`${gallery.issuer}/account`);
    },
  },
  {
    name: 'account-remove',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/account/remove`)),
  },
  {
    name: 'passkey-add',
    open: (page, _context, gallery) => openConfirmed(page, gallery, '/account/passkeys/add'),
  },
  {
    name: 'ready',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/setup`)),
  },
  {
    name: 'no-page',
    fresh: true,
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/nowhere`)),
  },
  {
    name: 'unknown-app',
    open: async (page, _context, { url }) => void (await page.goto(url({ client_id: 'unknown' }))),
  },
  {
    name: 'return-to-an-unverified-app',
    fresh: true,
    open: async (page, _context, { url, other }) =>
      void (await page.goto(url({ client_id: other, scope: 'nonsense' }))),
  },
  {
    name: 'no-longer-open',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/consent?flow=flow_x`)),
  },
  {
    name: 'no-cookie',
    async open(page, context, gallery) {
      await ask(page, gallery, { client_id: 'desk' });
      await context.clearCookies();
      await page.reload();
    },
  },
  {
    name: 'spent-link',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/setup?token=x`)),
  },
  {
    name: 'sign-out',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/logout`)),
  },
  {
    name: 'signed-out',
    fresh: true,
    async open(page, _context, gallery) {
      await ask(page, gallery, { client_id: 'desk' });
      await page.goto(`${gallery.issuer}/setup`);
      await page.click('form[action="/logout"] button');
      await page.waitForURL('**/logout');
    },
  },
  {
    name: 'connections-ended',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/connections?ended=one`)),
  },
  {
    name: 'connections-end-all',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/connections/end`)),
  },
  {
    name: 'device',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/device`)),
  },
  {
    name: 'device-wrong-code',
    async open(page, _context, { issuer }) {
      await page.goto(`${issuer}/device`);
      await fill(page, { user_code: 'BCDF-GHJK' });
      await page.click('form[action="/device"] button');
      await page.waitForSelector('.wrong');
    },
  },
  {
    name: 'device-compare',
    open: (page, _context, gallery) => enterDeviceCode(page, gallery),
  },
  {
    name: 'device-connected',
    async open(page, _context, gallery) {
      await enterDeviceCode(page, gallery);
      await page.click('form[action="/device"] button');
      await page.click('[value=allow]');
      await page.waitForURL('**/device/**');
    },
  },
  {
    name: 'password',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/account/password`)),
  },
  {
    name: 'password-failed',
    async open(page, _context, gallery) {
      await page.goto(`${gallery.issuer}/account/password`);
      await fill(page, { current: PASSWORD, password: 'short', password_again: 'short' });
      await page.click('form[action="/account/password"] button');
      await page.waitForSelector('.wrong');
    },
  },
  {
    name: 'invitation',
    fresh: true,
    open: async (page, _context, { invitation }) => void (await page.goto(invitation)),
  },
  {
    name: 'reset',
    fresh: true,
    open: async (page, _context, { reset }) => void (await page.goto(reset)),
  },
  {
    name: 'reset-link-used',
    fresh: true,
    gallery: 'both',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/reset?token=used`)),
  },
  {
    name: 'sign-in-after-reset',
    fresh: true,
    open: async (page, _context, { issuer }) =>
      void (await page.goto(`${issuer}/login?to=account&news=reset`)),
  },
  {
    name: 'forgotten-password',
    fresh: true,
    open: async (page, _context, { issuer }) =>
      void (await page.goto(`${issuer}/login/forgotten?to=account`)),
  },
  {
    name: 'forgotten-password-by-mail',
    fresh: true,
    gallery: 'both',
    open: async (page, _context, { issuer }) =>
      void (await page.goto(`${issuer}/login/forgotten?to=account`)),
  },
  {
    name: 'forgotten-password-sent',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { issuer }) {
      await page.goto(`${issuer}/login/forgotten?to=account`);
      await page.fill('[name=email]', 'ada@example.com');
      await page.click('form[action="/login/forgotten"] button');
      await page.waitForSelector('form', { state: 'detached' });
    },
  },
  {
    name: 'sign-in-by-link',
    fresh: true,
    gallery: 'both',
    open: async (page, _context, { issuer }) => void (await page.goto(`${issuer}/login/link?to=account`)),
  },
  {
    name: 'sign-in-link-opened',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { issuer, signInLink }) {
      await page.goto(`${issuer}/login/link?to=account`);
      await page.fill('[name=email]', 'ada@example.com');
      await page.click('form[action="/login/link"] button');
      await page.waitForSelector('form', { state: 'detached' });
      await page.goto(signInLink());
    },
  },
  ...['login.succeeded', 'consent.allowed', 'password.changed'].map(
    (type): Scene => ({
      name: `notice-of-${type.replace('.', '-')}`,
      fresh: true,
      gallery: 'both',
      open: async (page, _context, { noticeLink }) =>
        void (await page.goto(await noticeLink(type, { sessionId: 'session' }))),
    }),
  ),
  {
    name: 'notice-ended',
    fresh: true,
    gallery: 'both',
    async open(page, _context, { noticeLink }) {
      await page.goto(await noticeLink('passkey.added', { passkeyId: 'passkey' }));
      await page.click('[name=secure]');
      await page.waitForSelector('form', { state: 'detached' });
    },
  },
  {
    name: 'codes-set-up',
    fresh: true,
    open: async (page, _context, gallery) => {
      await visitGrace(page, gallery);
      await openConfirmed(page, gallery, '/account/codes');
    },
  },
  {
    name: 'recovery-codes',
    fresh: true,
    async open(page, _context, gallery) {
      await visitGrace(page, gallery);
      await switchCodesOn(page, gallery);
    },
  },
  {
    name: 'account-with-codes',
    fresh: true,
    async open(page, _context, gallery) {
      await visitGrace(page, gallery);
      await page.goto(`${gallery.issuer}/account`);
    },
  },
  {
    name: 'recovery-codes-renew',
    fresh: true,
    async open(page, _context, gallery) {
      await visitGrace(page, gallery);
      await page.goto(`${gallery.issuer}/account/codes/recovery`);
    },
  },
  {
    name: 'code',
    fresh: true,
    open: (page, _context, gallery) => enterCodePage(page, gallery),
  },
];
