/** The status of identity providers: in the console, the API and the command line, and what the overview says of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runHere } from '../../../cli/test/support/in-process.ts';
import { json, startBackend, type TestBackend } from '../../../gateway/test/support/backend.ts';
import { call, type Installation, startInstallation } from '../installation.ts';
import { eventOf } from './activity/events.ts';
import { type Visitor, visitConsole } from './visitor.ts';

let provider: TestBackend;
let keys: object = {};
let t: Installation;
let visitor: Visitor;
beforeAll(async () => {
  provider = await startBackend((received, response) => {
    const issuer = `http://${received.headers.host}/idp`;
    if (received.url === '/idp/jwks') return json(response, keys);
    return json(response, {
      ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
      jwks_uri: `${issuer}/jwks`,
    });
  });
  const issuer = `${new URL(provider.url).origin}/idp`;
  const common = { clientId: 'portcullis', scopes: ['openid'], clientSecret: 'a secret of these tests' };
  t = await startInstallation({
    identityProviders: [
      { ...common, id: 'company', name: 'Company', kind: { issuer } },
      { ...common, id: 'gone', name: 'Gone', kind: { issuer: 'http://127.0.0.1:9/idp' } },
      { ...common, id: 'forge', name: 'Forge', preset: 'github' },
    ],
    webhooks: [{ name: 'chat', url: 'http://127.0.0.1:9/', secret: `whsec_${'A'.repeat(32)}` }],
    eventExports: [{ name: 'siem', url: 'syslog+tls://siem.example:6514', types: ['login.*'] }],
  } as never);
  visitor = await visitConsole(t, 'viewer');
});
afterAll(async () => {
  await t.stop();
  await provider.close();
});

const eventAt = (type: string, ago: number, details: object) => {
  const expiresAt = Math.floor(Date.now() / 1000) + 999;
  return eventOf(type, Date.now() - ago - Date.UTC(2026, 2, 1, 4), { expiresAt, details: { ...details } });
};

describe('the status of identity providers', () => {
  it('has metadata and keys as they are now, in the API as in the page', async () => {
    const token = await t.machineToken('ops');
    const { body } = await call(t, token, 'GET /identity-providers/status');
    expect(body).toMatchObject({
      items: [
        {
          id: 'company',
          metadata: 'reachable',
          keys: 'unreachable',
          error: expect.stringContaining('has no key'),
        },
        {
          id: 'gone',
          metadata: 'unreachable',
          keys: 'unused',
          error: expect.stringMatching(/cannot be read: (?:connection refused|unknown host name)/),
        },
        { id: 'forge', protocol: 'oauth', metadata: 'unused', keys: 'unused', error: null },
      ],
    });
    const page = async (id: string) => (await visitor.open(`/admin/settings/providers/${id}`)).html;
    expect(await page('gone')).toContain('Unreachable');
    expect(await page('company')).toContain('has no key that verifies signatures');
    expect(await page('forge')).toContain('its endpoints are configured');
    expect((await visitor.open('/admin/settings')).html).toContain(
      'href="/admin/settings/providers/company"',
    );
  });

  it('has the last sign-in and the last failure, which the overview names until a sign-in succeeds', async () => {
    const append = (...events: readonly Parameters<typeof eventAt>[]) =>
      t.onStore((store) => store.appendEvents(events.map((given) => eventAt(...given))));
    const overview = async () => (await visitor.open('/admin')).html;
    await append(
      ['login.succeeded', 600_000, { identityProvider: 'company' }],
      ['federated_login.failed', 300_000, { identityProvider: 'company', reason: 'access_denied <b>' }],
    );
    const { html } = await visitor.open('/admin/settings/providers/company');
    expect(html).toContain('5 minutes ago</time></a>: <bdi>access_denied &lt;b&gt;</bdi>');
    expect(html).toContain('10 minutes ago');
    expect(await overview()).toContain('The last sign-in at Company failed: access_denied &lt;b&gt;.');
    await append(['login.succeeded', 1_000, { identityProvider: 'company' }]);
    expect(await overview()).not.toContain('The last sign-in at Company');
  });

  it('is shown by the command line beside the database', async () => {
    keys = { keys: [{ kty: 'EC', use: 'sig' }] };
    const environment = {
      PORTCULLIS_DATABASE: t.database,
      PORTCULLIS_PUBLIC_URL: t.url,
      PORTCULLIS_IDENTITY_PROVIDERS: JSON.stringify([
        {
          ...{ id: 'company', name: 'Company', clientId: 'portcullis', clientSecret: { variable: 'UNSET' } },
          ...{ kind: { issuer: `${new URL(provider.url).origin}/idp` }, scopes: ['openid'] },
        },
      ]),
    };
    const shown = await runHere(['identity-providers'], { environment, folder: '/tmp', input: undefined });
    expect([shown.code, shown.output]).toEqual([
      0,
      expect.stringContaining('metadata reachable, keys reachable'),
    ]);
    const asJson = await runHere(['identity-providers', '--json'], {
      environment,
      folder: '/tmp',
      input: undefined,
    });
    expect(JSON.parse(asJson.output)).toMatchObject([{ id: 'company', keys: 'reachable' }]);
  });
});

describe('the overview', () => {
  it('names clients whose clock drifts, by their rejected assertions and proofs', async () => {
    const overview = async () => (await visitor.open('/admin')).html;
    let ago = 60_000;
    const rejected = (reason: string) => {
      ago += 1_000;
      return eventAt('request.rejected', ago, { error: 'invalid_client', reason });
    };
    await t.onStore((store) =>
      store.appendEvents([rejected('it was issued in the future'), rejected('it was issued in the future')]),
    );
    expect(await overview()).not.toContain('a clock there drifts');
    await t.onStore((store) => store.appendEvents([rejected('DPoP proof: iat is missing or too far off')]));
    expect(await overview()).toContain('3 requests of 1 app had an assertion or proof from the future');
  });
});

it('the settings list webhooks and exports, with their hosts and the events that they receive', async () => {
  const { html } = await visitor.open('/admin/settings');
  for (const text of ['chat', '127.0.0.1:9', 'siem', 'siem.example:6514', 'login.*'])
    expect(html).toContain(text);
});
