/** simple-oauth2 as a web application at our authorization server. */
import { createHash, randomUUID } from 'node:crypto';
import type { PortcullisHere } from '../../support/portcullis-here.ts';
import type { User } from '../../support/user.ts';
import { importPeer } from './stage.ts';

/** Its tokens. */
export interface AccessToken {
  readonly token: { readonly access_token: string; readonly refresh_token: string };
  refresh(): Promise<AccessToken>;
  revoke(kind: 'access_token' | 'refresh_token'): Promise<void>;
  revokeAll(): Promise<void>;
}

type Parameters = Readonly<Record<string, string>>;

/** What is used of the package. */
interface SimpleOAuth2 {
  readonly default: {
    readonly AuthorizationCode: new (
      options: object,
    ) => {
      authorizeURL(parameters: Parameters): string;
      getToken(parameters: Parameters): Promise<AccessToken>;
    };
  };
}

/** The client to configure. */
export const web = {
  client_id: 'web',
  client_secret: 'a:b c/d+e%f, and long enough: 0123456789',
  redirect_uris: ['https://app.example/callback'],
  grant_types: ['authorization_code', 'refresh_token'],
} as const;

/** The user signs in, and the application redeems the code. */
export async function signInWithSimpleOAuth2(server: PortcullisHere, user: User): Promise<AccessToken> {
  const peer = await importPeer<SimpleOAuth2>('simple-oauth2/index.js');
  const client = new peer.default.AuthorizationCode({
    client: { id: web.client_id, secret: web.client_secret },
    auth: { tokenHost: server.url, tokenPath: '/token', revokePath: '/revoke', authorizePath: '/authorize' },
  });
  const verifier = randomUUID() + randomUUID();
  const [redirect_uri] = web.redirect_uris;
  const url = client.authorizeURL({
    redirect_uri,
    scope: 'notes:read',
    resource: server.resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const code = (await user.authorize(url)).searchParams.get('code') ?? '';
  return client.getToken({ code, redirect_uri, code_verifier: verifier });
}
