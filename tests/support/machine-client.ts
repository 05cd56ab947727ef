/** A configured client that gets its tokens by its secret, for programs that only need a token. */

import type { FileConfiguration } from '@portcullis/cli';

type ConfiguredMachine = NonNullable<FileConfiguration['clients']>[number];

export const machineCredentials = { client_id: 'machine', client_secret: 'a secret that only tests know' };

export const machineClient: ConfiguredMachine = {
  ...machineCredentials,
  client_name: 'Machine',
  // Of a server without rules behind `portcullis protect`.
  scope: 'mcp:read mcp:write',
  redirect_uris: [],
  grant_types: ['client_credentials'],
  token_endpoint_auth_method: 'client_secret_post',
};

/** Requests an access token for the only resource of a server. */
export async function requestMachineToken(issuer: string): Promise<string> {
  const body = new URLSearchParams({ ...machineCredentials, grant_type: 'client_credentials' });
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  if (token === undefined) throw new Error(`No token: ${response.status}`);
  return token;
}
