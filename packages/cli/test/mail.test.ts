/** `portcullis up` with a mail server: from the sign-in page to a new password in Chromium, invitations, notices, and `portcullis mail`. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../../../tests/support/browser.ts';
import { type MailServer, startMailServer } from '../../../tests/support/mail-server.ts';
import { owner } from '../../../tests/support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../../../tests/support/portcullis-here.ts';
import { createUser } from '../../../tests/support/user.ts';
import { runHere } from './support/in-process.ts';

let mailServer: MailServer;
let portcullis: PortcullisHere;
let browser: Browser;

beforeAll(async () => {
  mailServer = await startMailServer({ login: ['gate', 'secret'] });
  [portcullis, browser] = await Promise.all([
    startPortcullisHere({
      name: 'Gate',
      mail: {
        server: mailServer.url,
        from: 'gate@example.com',
        user: 'gate',
        password: 'secret',
        signInLinks: true,
      },
    }),
    launchChromium(),
  ]);
});

afterAll(async () => {
  await browser.close();
  await portcullis.stop();
  await mailServer.close();
});

/** Runs a command in a second terminal, whose configuration names the password by a variable. */
async function run(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-mail-'));
  const password = { variable: 'MAIL_SECRET' };
  const mail = { server: mailServer.url, from: 'gate@example.com', user: 'gate', password };
  const configuration = { database: portcullis.database, publicUrl: portcullis.url, mail };
  await writeFile(join(folder, 'portcullis.json'), JSON.stringify(configuration));
  const ended = await runHere([...words, '--config', 'portcullis.json'], { environment, folder });
  await rm(folder, { recursive: true });
  return ended;
}

async function open(path: string): Promise<Page> {
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(new URL(path, portcullis.url).href);
  return page;
}

/** Waits for a mail with this subject. */
async function waitForMail(subject: string) {
  const find = () => mailServer.mails.find((mail) => mail.subject === subject);
  await expect.poll(find).toBeDefined();
  return find();
}

it('a user who forgot the password chooses a new one by the link of a mail, and reports that it was someone else', async () => {
  const page = await open('/login?to=connections');
  await page.click('text=Forgot your password?');
  await page.fill('[name=email]', owner.email);
  await page.click('text=Send the link');
  expect(await page.textContent('h1')).toBe('Check your mail');
  const mail = await waitForMail('Choose a new password · Gate');
  expect(mail).toMatchObject({
    recipients: [owner.email],
    from: { name: 'Gate', address: 'gate@example.com' },
  });
  await page.setContent(mail?.html ?? '');
  await page.click('a >> nth=0');
  for (const field of ['password', 'password_again']) await page.fill(`[name=${field}]`, 'a bridge of rope');
  await page.click('text=Save and sign in');
  await page.waitForURL('**/account?news=reset');

  // The notice of the new password leads to a page that ends the session.
  const notice = await waitForMail('Your way of signing in was changed · Gate');
  const link = /https?:\S+\/notice\?token=\S+/.exec(notice?.text ?? '')?.[0] ?? '';
  const report = await open(link);
  await report.click('text=Sign out everywhere and choose a new password');
  await report.waitForSelector('text=a mail with a link for a new password is on its way');
  await page.goto(`${portcullis.url}/account`);
  expect(page.url()).toContain('/login');
});

it('a user signs in by the link of a mail, in the browser that requested it', async () => {
  const page = await open('/login?to=account');
  await page.click('text=Sign in by a link instead');
  await page.fill('[name=email]', owner.email);
  await page.click('text=Send the link');
  expect(await page.textContent('h1')).toBe('Check your mail');
  const mail = await waitForMail('Sign in · Gate');
  const link = /https?:\S+\/login\/link\/open\?token=\S+/.exec(mail?.text ?? '')?.[0] ?? '';
  expect(await (await open(link)).textContent('h1')).toBe('This link does not work');
  await page.goto(link);
  await page.click('button >> text=Sign in');
  await page.waitForURL('**/account');
});

it('`users add` invites the owner by mail and prints no link', async () => {
  const added = await run(['users', 'add', 'bob@example.com']);
  expect(added).toMatchObject({ code: 0, errors: '' });
  expect(added.output).toContain('A running server sends bob@example.com an invitation');
  expect(added.output).not.toContain('token=');
  const mail = await waitForMail('You are invited · Gate');
  expect(mail?.recipients).toEqual(['bob@example.com']);
  const page = await open(/https?:\S+\/invitation\?token=\S+/.exec(mail?.text ?? '')?.[0] ?? '');
  expect(await page.textContent('h1')).toBe('Choose how to sign in');
});

it('a mail and its page show a hostile name of an app as text, and end its connection', async () => {
  const name = '<img src=x onerror="document.title=1"><b>Notes</b>';
  const redirect = 'https://app.example/callback';
  const registered = await fetch(`${portcullis.url}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: name,
      redirect_uris: [redirect],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id: clientId } = (await registered.json()) as { readonly client_id: string };
  const request = new URL(`${portcullis.url}/authorize`);
  request.search = String(
    new URLSearchParams({
      ...{
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirect,
        resource: portcullis.resource,
      },
      ...{ scope: 'notes:read', code_challenge: 'A'.repeat(43), code_challenge_method: 'S256' },
    }),
  );
  const user = createUser({ ...owner, password: 'a bridge of rope' });
  expect((await user.authorize(request)).searchParams.has('code')).toBe(true);
  const mail = await waitForMail('A new app is connected · Gate');
  const page = await open('/login');
  await page.setContent(mail?.html ?? '');
  expect(await page.locator('img, b').count()).toBe(0);
  expect(await page.textContent('table')).toContain('<img src=x onerror="document.title=1"><b>Notes</b>');
  await page.click('a >> nth=0');
  await page.waitForURL('**/notice?token=*');
  expect(await page.locator('main img, main b').count()).toBe(0);
  await page.click('button >> text=Disconnect');
  await page.waitForSelector('text=The app is disconnected');
  // What the app was given is of no use any more.
  const again = await user.authorize(request, 'deny');
  expect(again.searchParams.get('error')).toBe('access_denied');
});

it('`mail status` says why no mail is sent while the server responds as usual, and the log says when it is again', async () => {
  mailServer.behavior.data = () => [452, '4.3.1 full'];
  const page = await open('/login/forgotten?to=connections');
  await page.fill('[name=email]', 'bob@example.com');
  await page.click('text=Send the link');
  expect(await page.textContent('h1')).toBe('Check your mail');
  const status = async () => JSON.parse((await run(['mail', 'status', '--json'])).output);
  await expect.poll(status).toMatchObject({ lastError: expect.stringContaining('452') });
  expect((await run(['mail', 'status'])).output).toMatch(/attempts? failed \(.*452.*\), next at 2/);
  expect(portcullis.output()).toContain('mail.failed');
  mailServer.behavior.data = () => null;
  await expect.poll(() => portcullis.output()).toContain('mail.recovered');
  await expect.poll(status).toMatchObject({ attempts: 0, lastError: null });
});

it('`mail test` sends a mail where the password is known, and says what the server responds', async () => {
  const environment = { MAIL_SECRET: 'secret' };
  expect(await run(['mail', 'test', 'ada@example.com'], environment)).toMatchObject({ code: 0 });
  const sent = mailServer.mails.at(-1);
  expect(sent).toMatchObject({ subject: expect.stringMatching(/^A test · /) });
  // The address may be without an account.
  expect(sent?.text).not.toContain('your account');
  const wrong = await run(['mail', 'test', 'ada@example.com'], { MAIL_SECRET: 'wrong' });
  expect([wrong.code, wrong.errors]).toEqual([1, expect.stringContaining('535')]);
  expect((await run(['mail', 'test', 'ada@example.com'])).errors).toContain('MAIL_SECRET, which is not set');
  const folder = await mkdtemp(join(tmpdir(), 'portcullis-mail-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const without = ['mail', 'test', 'ada@example.com', '--database', 'other.db', '--port', '1'];
  const { errors } = await runHere(without, { environment: {}, folder });
  expect(errors).toContain('is not set. If a configuration file sets it, name that: --config <file>');
});
