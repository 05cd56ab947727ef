/** A single-page application on another origin: all its requests are subject to CORS, in a real Chromium. */
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import type * as OAuth from 'oauth4webapi';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launchChromium } from '../support/browser.ts';
import { openBrowserFor } from '../support/chromium-user.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';

declare global {
  /** The state of the page. */
  var app: { readonly oauth: typeof OAuth; as?: OAuth.AuthorizationServer; client?: OAuth.Client };
}

const library = fileURLToPath(import.meta.resolve('oauth4webapi'));

const document = `<!doctype html><title>App</title>
<script type="module">
import * as oauth from '/oauth4webapi.js';
globalThis.app = { oauth };
</script>`;

let server: PortcullisHere;
let browser: Browser;
let site: Server;
let origin: string;

beforeAll(async () => {
  [server, browser, site] = await Promise.all([startPortcullisHere(), launchChromium(), openSite()]);
  const address = site.address();
  if (address === null || typeof address === 'string') throw new Error('the site has no address');
  origin = `http://localhost:${address.port}`;
});

afterAll(async () => {
  await browser.close();
  site.close();
  site.closeAllConnections();
  await server.stop();
});

/** Serves the application's page at every path, and the library beside it. */
async function openSite(): Promise<Server> {
  const script = await readFile(library);
  const opened = createServer((request, response) => {
    const isScript = request.url === '/oauth4webapi.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.end(isScript ? script : document);
  });
  await new Promise<void>((resolve) => opened.listen(0, '127.0.0.1', resolve));
  return opened;
}

it('a single-page application discovers, registers, gets a token and uses it', async () => {
  const user = await openBrowserFor(owner, browser);
  const page = await user.context.newPage();
  await page.goto(origin);
  await page.waitForFunction(() => globalThis.app !== undefined);

  expect(await findServer(page)).toEqual({ status: 401, issuer: server.url });
  const request = await requestAuthorization(page);
  const answer = await user.authorize(request.url);
  const token = await redeem(page, { ...request, answer: answer.href });
  const called = await callWhoAmI(page, token);
  expect(called).toMatchObject({ status: 200 });
  expect(called.body).toContain(server.url);
});

/** Discovery by the protected server's challenge, which CORS must expose to the page. */
function findServer(page: Page) {
  return page.evaluate(async (resource) => {
    const { oauth } = globalThis.app;
    const loopback = { [oauth.allowInsecureRequests]: true } as const;
    const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-11-25' };
    const refused = await fetch(resource, { method: 'POST', headers, body: '{}' });
    const challenge = refused.headers.get('www-authenticate') ?? '';
    const documented = /resource_metadata="([^"]+)"/.exec(challenge)?.[1] ?? '';
    const described = await fetch(documented, { headers: { 'mcp-protocol-version': '2025-11-25' } });
    const { authorization_servers: named } = (await described.json()) as OAuth.ResourceServer;
    const issuer = new URL(named?.[0] ?? '');
    const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...loopback });
    globalThis.app.as = await oauth.processDiscoveryResponse(issuer, response);
    return { status: refused.status, issuer: globalThis.app.as.issuer };
  }, server.resource);
}

interface AuthorizationRequest {
  readonly url: string;
  readonly verifier: string;
  readonly state: string;
  readonly redirectUri: string;
}

function requestAuthorization(page: Page): Promise<AuthorizationRequest> {
  return page.evaluate(
    async ({ resource, redirectUri }) => {
      const { oauth, as = { issuer: '' } } = globalThis.app;
      const response = await oauth.dynamicClientRegistrationRequest(
        as,
        { client_name: 'Page', redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
        { [oauth.allowInsecureRequests]: true },
      );
      const client = await oauth.processDynamicClientRegistrationResponse(response);
      globalThis.app.client = client;
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const url = new URL(as.authorization_endpoint ?? '');
      url.search = new URLSearchParams({
        response_type: 'code',
        client_id: client.client_id,
        redirect_uri: redirectUri,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        resource,
      }).toString();
      return { url: url.href, verifier, state, redirectUri };
    },
    { resource: server.resource, redirectUri: `${origin}/callback` },
  );
}

function redeem(page: Page, request: AuthorizationRequest & { readonly answer: string }): Promise<string> {
  return page.evaluate(
    async ({ answer, state, verifier, redirectUri, resource }) => {
      const { oauth, as = { issuer: '' }, client = { client_id: '' } } = globalThis.app;
      const parameters = oauth.validateAuthResponse(as, client, new URL(answer), state);
      const response = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        oauth.None(),
        parameters,
        redirectUri,
        verifier,
        { additionalParameters: { resource }, [oauth.allowInsecureRequests]: true },
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, response);
      return tokens.access_token;
    },
    { ...request, resource: server.resource },
  );
}

/** With the headers of new and old protocol versions, all of which a preflight must allow. */
function callWhoAmI(page: Page, token: string): Promise<{ status: number; body: string }> {
  return page.evaluate(
    async ({ resource, authorization }) => {
      const response = await fetch(resource, {
        method: 'POST',
        headers: {
          authorization,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2025-11-25',
          'mcp-method': 'tools/call',
          'mcp-name': 'whoami',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'tools/call',
          params: { name: 'whoami', arguments: {} },
        }),
      });
      return { status: response.status, body: await response.text() };
    },
    { resource: server.resource, authorization: `Bearer ${token}` },
  );
}
