/** What the servers of these tests serve, and to whom. */
import type { AuthorizationServerOptions, IdentityProviderOptions } from '@portcullis/authorization-server';
import type { Account } from '../support/user.ts';

/** Not where any of them listens: their ports are whatever is free. */
export const ISSUER = 'https://as.example';
export const NOTES = 'https://mcp.example/notes';
export const CALLBACK = 'https://app.example/callback';
export const MASTER_KEY: Uint8Array = new Uint8Array(32).fill(7);
export const ACCOUNT: Account = { email: 'ada@example.com', password: 'correct horse battery staple' };

export const RESOURCES: AuthorizationServerOptions['resources'] = [
  {
    resource: NOTES,
    name: 'Notes',
    scopes: { 'notes:read': 'Read your notes' },
    introspectionClients: ['notes-server'],
  },
];

const confidential = {
  client_secret: 'a secret of this world',
  token_endpoint_auth_method: 'client_secret_post',
};

export const CLIENTS: readonly object[] = [
  {
    ...confidential,
    client_id: 'web',
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
  },
  { ...confidential, client_id: 'notes-server', grant_types: ['client_credentials'] },
  {
    ...confidential,
    client_id: 'agent',
    grant_types: ['urn:ietf:params:oauth:grant-type:jwt-bearer'],
  },
];

/** Only provisions: no user signs in by it. */
export const PROVISIONING_PROVIDER: IdentityProviderOptions = {
  id: 'acme',
  name: 'Acme',
  clientId: 'portcullis',
  scopes: ['openid', 'email'],
  kind: { issuer: 'https://acme.example' },
  scim: {},
};

/** What a client of this world proves itself by, in a form. */
export function credentialsOf(clientId: 'web' | 'notes-server' | 'agent'): Readonly<Record<string, string>> {
  return { client_id: clientId, client_secret: confidential.client_secret };
}
