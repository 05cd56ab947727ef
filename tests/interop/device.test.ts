/** Device authorization at our own server: `portcullis login --device`, and `oauth4webapi`, which checks each response strictly. */
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createComputer } from '../../packages/cli/test/support/command.ts';
import { owner } from '../support/portcullis.ts';
import { type PortcullisHere, startPortcullisHere } from '../support/portcullis-here.ts';
import { visit } from '../support/visit.ts';

const loopback = { [oauth.allowInsecureRequests]: true } as const;
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const answers = { email: owner.email, password: owner.password, decision: 'allow' };

let server: PortcullisHere;

beforeAll(async () => {
  server = await startPortcullisHere({
    deviceAuthorization: true,
    clients: [
      { client_id: 'tv', grant_types: [DEVICE, 'refresh_token'], token_endpoint_auth_method: 'none' },
    ],
  });
});

afterAll(async () => {
  await server.stop();
});

it('login --device signs in at our own server', async () => {
  const computer = createComputer();
  const child = computer.start(['login', server.resource, '--device', '--json']);
  const output = text(child.stdout as Readable);
  let errors = '';
  for await (const chunk of child.stderr as Readable) {
    const shown = /^Or open (\S+)$/m;
    const before = shown.test(errors);
    errors += chunk;
    const address = shown.exec(errors)?.[1];
    if (!before && address !== undefined) {
      expect(await visit(address, { answers })).toContain('Your device is connected');
    }
  }
  const printed = await output;
  computer.close();
  expect(JSON.parse(printed === '' ? errors : printed)).toMatchObject({ issuer: server.url });
});

it('oauth4webapi gets tokens by device authorization', async () => {
  const issuer = new URL(server.url);
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...loopback }),
  );
  const client: oauth.Client = { client_id: 'tv' };
  const started = await oauth.processDeviceAuthorizationResponse(
    as,
    client,
    await oauth.deviceAuthorizationRequest(as, client, oauth.None(), { resource: server.resource }, loopback),
  );
  const poll = async () =>
    oauth.processDeviceCodeResponse(
      as,
      client,
      await oauth.deviceCodeGrantRequest(as, client, oauth.None(), started.device_code, loopback),
    );
  await expect(poll()).rejects.toMatchObject({ error: 'authorization_pending' });
  await expect(poll()).rejects.toMatchObject({ error: 'slow_down' });
  await visit(String(started.verification_uri_complete), { answers });
  await new Promise((resolve) => setTimeout(resolve, 10_500));
  expect(await poll()).toMatchObject({ access_token: expect.any(String), refresh_token: expect.any(String) });
});
