/** Well-known MCP hosts register as they do in practice, and their private-use redirect URIs are allowed exactly. */
import { describe, expect, it } from 'vitest';
import { knownHosts } from '../src/clients/known-hosts.ts';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const LOOPBACK = 'http://127.0.0.1:43117/callback';

/** An identifier for each pattern. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  ChatGPT: ['https://chatgpt.com/connector/oauth/vG3-MLZWUV83'],
  Cline: [
    'vscode://saoudrizwan.claude-dev/mcp-auth/callback/0123456789abcdef',
    `cursor://saoudrizwan.claude-dev/mcp-auth/callback/${'0a'.repeat(32)}`,
  ],
  Raycast: [
    'raycast://oauth?package_name=mcp_server_notes_(dev)',
    'raycast://oauth?package_name=Extension',
    'com.raycast:/oauth?package_name=Extension',
  ],
};

/** Registration requests as the hosts send them, with what differs from `authorization_code`, `refresh_token` and `none`. */
const REQUESTS: Readonly<Record<string, object>> = {
  'Visual Studio Code': {
    client_uri: 'https://code.visualstudio.com',
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    redirect_uris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ],
  },
  'Claude Code': { redirect_uris: ['http://localhost:54212/callback'], client_uri: '' },
  'Gemini CLI': { token_endpoint_auth_method: 'none', scope: '' },
};

function authorize(t: ServerUnderTest, clientId: unknown, redirectUri: string) {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: String(clientId),
    redirect_uri: redirectUri,
    state: 'state',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  });
  return t.send(`/authorize?${query}`);
}

describe.each(knownHosts)('$name', ({ name, redirectUris }) => {
  const uris = [...redirectUris.filter((uri) => typeof uri === 'string'), ...(EXAMPLES[name] ?? [])];

  it(`the registration request of ${name} is accepted with all its redirect URIs`, async () => {
    const t = await startServer();
    const request = {
      client_name: name,
      redirect_uris: uris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...REQUESTS[name],
    };
    const { status, body } = await t.register(request);
    expect([status, body['redirect_uris']]).toEqual([201, request.redirect_uris]);
    expect(body).not.toHaveProperty('dropped_redirect_uris');
    for (const redirectUri of request.redirect_uris) {
      const response = await authorize(t, body['client_id'], redirectUri);
      expect([redirectUri, response.status]).toEqual([redirectUri, 303]);
    }
  });

  const own = uris.filter((uri) => !/^https?:/.test(uri));
  it.runIf(own.length > 0)(`a URI that resembles one of ${name} is dropped`, async () => {
    const t = await startServer();
    for (const uri of own) {
      const others = [
        `${uri}/x`,
        `${uri}.evil`,
        uri.replace('://', '://evil.'),
        `x${uri}`,
        uri.toUpperCase(),
      ];
      const { body } = await t.register({ redirect_uris: [...others, LOOPBACK] });
      const kept = (body['redirect_uris'] as string[]).filter((one) => one !== LOOPBACK);
      // A name that a user chose may have any ending.
      expect(
        kept.filter((one) => !/^(?:raycast|com\.raycast):\/(?:\/)?oauth\?package_name=/.test(one)),
      ).toEqual([]);
    }
  });

  it.runIf(own.length > 0)(
    `\`privateUseSchemes: false\` refuses the private-use URIs of ${name}`,
    async () => {
      const t = await startServer({ privateUseSchemes: false });
      const before = t.snapshot();
      expect((await t.register({ redirect_uris: own })).status).toBe(400);
      expect(t.snapshot()).toBe(before);
    },
  );
});

it('a client registered under a laxer policy is refused with the name of the setting', async () => {
  const t = await startServer({ privateUseSchemes: ['myapp'] });
  const { body } = await t.register({ redirect_uris: ['myapp://callback', LOOPBACK] });
  const strict = await startServer();
  const registered = await strict.register({ redirect_uris: ['myapp://callback', LOOPBACK] });
  const response = await authorize(strict, registered.body['client_id'], 'myapp://callback');
  expect([response.status, response.text]).toEqual([400, expect.stringContaining('privateUseSchemes')]);
  const allowed = await authorize(t, body['client_id'], 'myapp://callback');
  expect(allowed.status).toBe(303);
});
