/** The client that the official conformance suite tests: our OAuth client as it comes, below the official MCP client. */
import process from 'node:process';
import { type GrantSettings, type PreregisteredClient, readSigningKey } from '@portcullis/client';
import { createNodeClient } from '@portcullis/client/node';

/** What the suite lends a scenario, by its own names. */
type ContextKey =
  | 'client_id'
  | 'client_secret'
  | 'issuer'
  | 'private_key_pem'
  | 'signing_algorithm'
  | 'valid_jwt'
  | 'idp_client_id'
  | 'idp_id_token'
  | 'idp_token_endpoint';

const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Readonly<
  Partial<Record<ContextKey, string>>
>;

/** The document that the suite's scenario about client metadata documents expects. */
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';

/** The suite's browser: it follows the authorization server's redirect to this program, and nothing else. */
async function browse(url: string): Promise<void> {
  const answer = await fetch(url, { redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location === null) throw new Error(`The authorization endpoint answered with status ${answer.status}.`);
  // The program answers when it has dealt with the redirect, which it does while this waits.
  void fetch(location).catch(() => undefined);
}

async function preregistered(): Promise<readonly PreregisteredClient[]> {
  if (context.client_id === undefined) return [];
  return [
    {
      clientId: context.client_id,
      ...(context.issuer !== undefined && { issuer: context.issuer }),
      ...(context.client_secret !== undefined && { clientSecret: context.client_secret }),
      ...(context.private_key_pem !== undefined && {
        signingKey: await readSigningKey(context.private_key_pem, context.signing_algorithm ?? 'ES256'),
      }),
    },
  ];
}

/** The grant follows from what the client was given, as it would from a user's configuration. */
function grantOf(scenario: string): GrantSettings {
  const {
    valid_jwt: assertion,
    idp_client_id: clientId,
    idp_id_token: subject,
    idp_token_endpoint: tokenEndpoint,
  } = context;
  if (assertion !== undefined) return { kind: 'workload', assertion: async () => assertion };
  if (clientId !== undefined && subject !== undefined && tokenEndpoint !== undefined) {
    return {
      kind: 'enterprise',
      identityProvider: { tokenEndpoint, clientId },
      subjectToken: async () => subject,
    };
  }
  return scenario.startsWith('auth/client-credentials') ? { kind: 'application' } : { kind: 'user' };
}

async function main(): Promise<void> {
  const serverUrl = process.argv.at(-1) ?? '';
  const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
  const version = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'] ?? '2025-11-25';
  const client = createNodeClient({
    serverUrl,
    grant: grantOf(scenario),
    registration: {
      clientName: 'Portcullis conformance client',
      metadataDocumentUrl: METADATA_DOCUMENT,
      preregistered: await preregistered(),
    },
    browser: { open: browse },
    onEvent: (event) => console.error(JSON.stringify(event)),
  });
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const mcp = new Client(
    { name: 'portcullis-conformance', version: '1.0.0' },
    { versionNegotiation: { mode: version === '2026-07-28' ? { pin: version } : 'legacy' } },
  );
  await mcp.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { fetch: client.fetch }));
  const { tools } = await mcp.listTools();
  for (const tool of tools) await mcp.callTool({ name: tool.name, arguments: {} });
  await mcp.close();
}

await main();
