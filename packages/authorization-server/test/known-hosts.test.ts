/** Well-known MCP hosts register as they do in practice, and their private-use redirect URIs are allowed exactly. */
import { describe, expect, it } from 'vitest';
import { type ServerUnderTest, startServer } from './server-under-test.ts';

const LOOPBACK = 'http://127.0.0.1:43117/callback';

interface KnownHost {
  readonly name: string;
  readonly redirectUris: readonly string[];
  /** What its registration request has besides, or instead of what most hosts send. */
  readonly request?: object;
}

/** What hosts register, by their documentation or source. */
const knownHosts: readonly KnownHost[] = [
  {
    // https://cursor.com/docs/mcp
    name: 'Cursor',
    redirectUris: [
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'http://localhost:8787/callback',
    ],
  },
  {
    // https://github.com/microsoft/vscode/blob/main/src/vs/base/common/oauth.ts
    name: 'Visual Studio Code',
    redirectUris: [
      'https://insiders.vscode.dev/redirect',
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'http://127.0.0.1:33418/',
    ],
    request: {
      client_uri: 'https://code.visualstudio.com',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
    },
  },
  {
    // https://docs.zuora.com/zuora-ai/zuora-mcp-server/zuora-mcp-server/configure-zuora-remote-mcp-server/redirect-uris-by-mcp-client
    name: 'Claude',
    redirectUris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  },
  {
    // https://github.com/anthropics/claude-code/issues/66511
    name: 'Claude Code',
    redirectUris: ['http://localhost:54212/callback'],
    request: { client_uri: '' },
  },
  {
    // https://github.com/makeplane/plane-mcp-server/pull/165
    name: 'ChatGPT',
    redirectUris: [
      'https://chatgpt.com/connector_platform_oauth_redirect',
      'https://chatgpt.com/connector/oauth/vG3-MLZWUV83',
    ],
  },
  // https://docs.windsurf.com/windsurf/cascade/mcp
  { name: 'Windsurf', redirectUris: ['http://localhost/callback'] },
  // https://github.com/zed-industries/zed/blob/main/crates/context_server/src/oauth.rs
  { name: 'Zed', redirectUris: ['http://127.0.0.1/callback'] },
  {
    // https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/mcp/oauth-provider.ts
    name: 'Gemini CLI',
    redirectUris: ['http://localhost:7777/oauth/callback'],
    request: { scope: '' },
  },
  // https://github.com/sst/opencode/blob/dev/packages/opencode/src/mcp/oauth-provider.ts
  { name: 'opencode', redirectUris: ['http://127.0.0.1:19876/mcp/oauth/callback'] },
  { name: 'Warp', redirectUris: ['warp://mcp/oauth2callback'] },
  {
    name: 'Cline',
    redirectUris: [
      'vscode://saoudrizwan.claude-dev/mcp-auth/callback/0123456789abcdef',
      `cursor://saoudrizwan.claude-dev/mcp-auth/callback/${'0a'.repeat(32)}`,
    ],
  },
  {
    name: 'Raycast',
    redirectUris: [
      'raycast://oauth?package_name=mcp_server_notes_(dev)',
      'raycast://oauth?package_name=Extension',
      'com.raycast:/oauth?package_name=Extension',
    ],
  },
];

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

describe.each(knownHosts)('$name', ({ name, redirectUris, request: others = {} }) => {
  it(`the registration request of ${name} is accepted with all its redirect URIs`, async () => {
    const t = await startServer();
    const request = {
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      ...others,
    };
    const { status, body } = await t.register(request);
    expect([status, body['redirect_uris']]).toEqual([201, redirectUris]);
    expect(body).not.toHaveProperty('dropped_redirect_uris');
    for (const redirectUri of redirectUris) {
      const response = await authorize(t, body['client_id'], redirectUri);
      expect([redirectUri, response.status]).toEqual([redirectUri, 303]);
    }
  });

  const own = redirectUris.filter((uri) => !/^https?:/.test(uri));
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
