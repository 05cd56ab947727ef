/** A client that exposes its tokens to tests, and requests nothing by itself. */
import { createHash, randomBytes } from 'node:crypto';
import type { User } from '../support/user.ts';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
}

/** A client that has registered at an issuer. */
export interface TestClient {
  /** Sends this user through the pages; returns where that ends. */
  begin(user: User): Promise<URL>;
  redeem(arrived: URL): Promise<Tokens>;
  /** The raw response: a refresh may be rejected. */
  refresh(token: string): Promise<Response>;
  revoke(token: string): Promise<Response>;
}

const redirectUri = 'http://127.0.0.1:7/callback';

export async function registerTestClient(issuer: string, resource: string): Promise<TestClient> {
  const registration = await fetch(`${issuer}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Reader',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    }),
  });
  const { client_id: clientId } = (await registration.json()) as { readonly client_id: string };
  const verifier = randomBytes(32).toString('base64url');
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(`${issuer}${path}`, {
      method: 'POST',
      body: new URLSearchParams({ ...form, client_id: clientId }),
    });
  return {
    begin(user) {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        resource,
      });
      return user.authorize(`${issuer}/authorize?${query}`);
    },
    async redeem(arrived) {
      const code = arrived.searchParams.get('code');
      if (code === null) throw new Error(`there is no code: ${arrived.search}`);
      const form = {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
      };
      return (await (await post('/token', form)).json()) as Tokens;
    },
    refresh: (token) => post('/token', { grant_type: 'refresh_token', refresh_token: token }),
    revoke: (token) => post('/revoke', { token }),
  };
}

/** Presents a token to a protected server. */
export function present(resource: string, { access_token: token }: Tokens): Promise<Response> {
  return fetch(resource, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  });
}
