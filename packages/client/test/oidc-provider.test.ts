/** Interoperability with oidc-provider, with its own pages, in front of a small protected server. */
import { expect, it } from 'vitest';
import { visit } from '../../../tests/support/visit.ts';
import { createMemoryStore, type DevicePrompt } from '../src/index.ts';
import { createNodeClient, type NodeClientOptions } from '../src/node.ts';
import { openStage } from './support/oidc-provider.ts';

const answers = { login: 'ada' };

const browser: NodeClientOptions['browser'] = {
  async open(url) {
    const arrived = await visit(url, { answers });
    if (!arrived.startsWith('http://127.0.0.1')) throw new Error(arrived.replace(/<[^>]+>/g, ' '));
    void fetch(arrived).catch(() => undefined);
  },
};

it('registers, signs in, calls, refreshes with rotation and signs out with oidc-provider', async () => {
  const { serverUrl, asked, origin } = await openStage();
  const store = createMemoryStore();
  let offset = 0;
  const client = createNodeClient({ serverUrl, browser, store, clock: () => Date.now() + offset });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({
    aud: serverUrl,
    scope: 'notes:read',
    sub: 'ada',
  });
  for (let round = 0; round < 3; round += 1) {
    offset += 580_000;
    expect((await client.fetch(serverUrl)).status).toBe(200);
  }
  expect(asked).toEqual(['authorization_code', 'refresh_token', 'refresh_token', 'refresh_token']);
  expect(await client.session()).toMatchObject({ issuer: origin, refreshable: true });
  expect(await client.signOut()).toBe('revoked');
});

it('[X-DPOP-1 X-DPOP-4] obtains DPoP-bound tokens from oidc-provider with its nonces', async () => {
  const { serverUrl } = await openStage({
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => true },
  });
  const client = createNodeClient({ serverUrl, browser });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({
    scheme: 'DPoP',
    cnf: { jkt: expect.any(String) },
  });
});

it('pushes its authorization request to oidc-provider, which requires it, bound to its DPoP key', async () => {
  const opened: URL[] = [];
  const { serverUrl } = await openStage({
    dPoP: { enabled: true, nonceSecret: Buffer.alloc(32, 1), requireNonce: () => true },
    pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
  });
  const watched: NodeClientOptions['browser'] = {
    open: (url) => {
      opened.push(new URL(url));
      return browser.open(url);
    },
  };
  const client = createNodeClient({ serverUrl, browser: watched });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ scheme: 'DPoP' });
  expect([...(opened[0]?.searchParams.keys() ?? [])].toSorted()).toEqual(['client_id', 'request_uri']);
});

it('[X-CC-8 X-CC-13] obtains a token from oidc-provider with a secret that requires encoding', async () => {
  const clientSecret = 'a:b%c d+e';
  const { serverUrl } = await openStage(
    { clientCredentials: { enabled: true } },
    {
      clients: [
        {
          client_id: 'robot',
          client_secret: clientSecret,
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
    },
  );
  const client = createNodeClient({
    serverUrl,
    grant: { kind: 'application' },
    registration: { preregistered: [{ clientId: 'robot', clientSecret }] },
  });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ aud: serverUrl, client_id: 'robot' });
});

it('signs in at oidc-provider with device authorization', async () => {
  const { serverUrl } = await openStage({ deviceFlow: { enabled: true } });
  const prompts: DevicePrompt[] = [];
  const client = createNodeClient({
    serverUrl,
    grant: {
      kind: 'device',
      async show(prompt) {
        prompts.push(prompt);
        await visit(prompt.verificationUriComplete ?? prompt.verificationUri, { answers });
      },
    },
    sleep: () => new Promise((resolve) => setTimeout(resolve, 50)),
  });
  expect(await (await client.fetch(serverUrl)).json()).toMatchObject({ aud: serverUrl, sub: 'ada' });
  expect(prompts).toHaveLength(1);
});
