/** The external UI in a real Chromium: a small application on another site shows sign-in and consent. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { launchChromium } from '../../../tests/support/browser.ts';
import type { AuthorizationServerOptions } from '../src/index.ts';
import { SECRET, signatureOf } from './external-ui-application.ts';
import { startListening, withoutAddress } from './listening-server.ts';
import { EMAIL, PASSWORD, requestOf, VERIFIER } from './visitor.ts';

let browser: Browser;
let application: Server;
let app: Server;
/** The authorization server whose pages the application shows. */
let issuer = '';

beforeAll(async () => {
  browser = await launchChromium();
  application = await start((request, response) => {
    serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  app = await start((_request, response) => response.end('<title>The app</title>'));
});

afterAll(async () => {
  await browser.close();
  for (const server of [application, app]) {
    server.close();
    server.closeAllConnections();
  }
});

async function start(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<Server> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** `localhost` and `127.0.0.1` are two sites to a browser. */
const originOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Calls the authorization server's API, as documented. */
async function call(path: string, members: { readonly challenge: string }): Promise<Record<string, unknown>> {
  const body = JSON.stringify(members);
  const at = Math.floor(Date.now() / 1000);
  const response = await fetch(issuer + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'portcullis-signature': signatureOf({ issuer, path, body, at }),
    },
    body,
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok && answer['error'] !== 'invalid_grant') throw new Error(JSON.stringify(answer));
  // The challenge is no longer open: the authorization server explains why.
  return response.ok
    ? answer
    : { continue: `${issuer}/headless/continue?${new URLSearchParams({ challenge: members.challenge })}` };
}

/** The application: two pages with a form each. Its session is a hidden field, to keep the test short. */
async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', originOf(application));
  if (request.method === 'POST') {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { challenge = '', decision, ...members } = Object.fromEntries(new URLSearchParams(text));
    const scopes = new URLSearchParams(text).getAll('scopes');
    const accept =
      url.pathname === '/consent' ? { challenge, ...members, scopes } : { challenge, ...members };
    const answer =
      decision === 'no'
        ? await call('/headless/refuse', { challenge })
        : await call('/headless/accept', accept);
    response.writeHead(303, { location: String(answer['continue']) }).end();
    return;
  }
  const challenge = url.searchParams.get('challenge') ?? '';
  const asked = await call('/headless/ask', { challenge });
  if ('continue' in asked) {
    response.writeHead(303, { location: String(asked['continue']) }).end();
    return;
  }
  const carried = `<input type="hidden" name="challenge" value="${challenge}">`;
  const fields = url.pathname === '/consent' ? consentFields(asked) : '<input name="email" type="email">';
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end(
    `<title>The shop: ${asked['kind']}</title><form method="post">${carried}${fields}<button>Yes</button><button name="decision" value="no">No</button></form>`,
  );
}

function consentFields(asked: Record<string, unknown>): string {
  const { id } = asked['account'] as { id: string };
  const scopes = asked['scopes'] as readonly { scope: string; sentence: string }[];
  const boxes = scopes.map(
    ({ scope, sentence }) =>
      `<label><input type="checkbox" name="scopes" value="${scope}" checked>${sentence}</label>`,
  );
  return `<input type="hidden" name="account" value="${id}">${boxes.join('')}`;
}

async function startServer(
  headless: Omit<NonNullable<AuthorizationServerOptions['externalUi']>, 'secrets'>,
): Promise<void> {
  const stage = await startListening(
    (own) => ({
      externalUi: { ...headless, secrets: [SECRET] },
      resources: [
        {
          resource: `${own}/mcp`,
          name: 'Notes',
          scopes: { read: 'Read your notes', write: 'Change your notes' },
        },
      ],
    }),
    { middleware: withoutAddress },
  );
  issuer = stage.issuer;
  onTestFinished(stage.close);
}

async function visit(javaScriptEnabled = true): Promise<Page> {
  const context = await browser.newContext({ javaScriptEnabled });
  onTestFinished(() => context.close());
  return context.newPage();
}

/** The authorization URL that an app opens in the browser. */
async function request(): Promise<{ url: string; client_id: string; redirect_uri: string }> {
  const redirect_uri = `${originOf(app)}/callback`;
  const response = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Notes CLI',
      redirect_uris: [redirect_uri],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id } = (await response.json()) as { client_id: string };
  return { url: issuer + requestOf({ client_id, redirect_uri }), client_id, redirect_uri };
}

describe('an external UI in Chromium', () => {
  it.each([
    ['with JavaScript', true],
    ['without JavaScript', false],
  ])('leads a user from the client through the external UI and back, %s', async (_how, javaScriptEnabled) => {
    const pages = originOf(application);
    await startServer({ loginUrl: `${pages}/sign-in`, consentUrl: `${pages}/consent` });
    const page = await visit(javaScriptEnabled);
    const { url, client_id, redirect_uri } = await request();
    await page.goto(url);
    expect(await page.title()).toBe('The shop: login');
    await page.fill('[name=email]', EMAIL);
    await page.click('text=Yes');
    await page.waitForURL(`${pages}/consent?challenge=*`);
    expect(await page.title()).toBe('The shop: consent');
    await page.getByLabel('Change your notes').uncheck();
    await page.click('text=Yes');
    await page.waitForURL(`${redirect_uri}?code=*`);
    const code = new URL(page.url()).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id, redirect_uri };
    const token = await fetch(`${issuer}/token`, { method: 'POST', body: new URLSearchParams(form) });
    expect(await token.json()).toMatchObject({ token_type: 'Bearer', scope: 'read' });

    // Back to the completed challenge: it cannot be completed again.
    await page.goBack();
    expect(await page.locator('h1').textContent()).toBe('This request is no longer open');
  });

  it('redirects access_denied when the user declines in the external UI', async () => {
    const pages = originOf(application);
    await startServer({ loginUrl: `${pages}/sign-in` });
    const page = await visit();
    const { url, redirect_uri } = await request();
    await page.goto(url);
    await page.click('text=No');
    await page.waitForURL(`${redirect_uri}?error=access_denied*`);
  });

  it('our own sign-in page links to the external UI, and posts only to this server', async () => {
    await startServer({ consentUrl: `${originOf(application)}/consent` });
    const page = await visit(false);
    const { url, redirect_uri } = await request();
    await page.goto(url);
    await page.fill('[name=email]', EMAIL);
    await page.fill('[name=password]', PASSWORD);
    await page.click('form[action="/login"] button');
    await page.waitForURL(`${originOf(application)}/consent?challenge=*`);
    await page.click('text=Yes');
    await page.waitForURL(`${redirect_uri}?code=*`);
  });

  it('T069: cannot sign in a victim whom an attacker led to the external UI (login CSRF)', async () => {
    const pages = originOf(application);
    await startServer({ loginUrl: `${pages}/sign-in`, consentUrl: `${pages}/consent` });
    const [attacker, victim] = [await visit(), await visit()];
    const { url } = await request();
    await attacker.goto(url);
    await victim.goto(url);
    await victim.goto(attacker.url());
    await victim.fill('[name=email]', EMAIL);
    await victim.click('text=Yes');
    expect(await victim.locator('h1').textContent()).toBe('This was started in another browser');
    const cookies = await victim.context().cookies();
    expect(cookies.map(({ name }) => name).filter((name) => name.includes('session'))).toEqual([]);
    await attacker.reload().catch(() => {});
    expect((await attacker.context().cookies()).filter(({ name }) => name.includes('session'))).toEqual([]);
  });
});
