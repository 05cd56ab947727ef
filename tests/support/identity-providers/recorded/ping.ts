/** PingOne. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const TOKEN = 'https://developer.pingidentity.com/pingone-api/auth/openid-connect-oauth-2/token-intro.html';

export const ping: RecordedProvider = {
  subjects: ['8376e1a6-9f7f-4f3c-8b55-37a7a1c1f0d1', '8376e1a6-9f7f-4f3c-8b55-37a7a1c1f0d2'],
  metadata: {
    page: TOKEN,
    unread: true,
    body: {
      issuer: '$origin/4d6bb1a1/as',
      authorization_endpoint: '$origin/4d6bb1a1/as/authorize',
      token_endpoint: '$origin/4d6bb1a1/as/token',
      userinfo_endpoint: '$origin/4d6bb1a1/as/userinfo',
      introspection_endpoint: '$origin/4d6bb1a1/as/introspect',
      revocation_endpoint: '$origin/4d6bb1a1/as/revoke',
      jwks_uri: '$origin/4d6bb1a1/as/jwks',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: { page: TOKEN, unread: true, claims: { env: '4d6bb1a1', org: 'a1b2' } },
  denied: { page: TOKEN, unread: true, body: { error: 'access_denied' } },
  token: {
    page: TOKEN,
    unread: true,
    body: {
      access_token: '$accessToken',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'openid profile offline_access',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refresh: {
    page: TOKEN,
    unread: true,
    body: {
      access_token: '$accessToken',
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'openid profile offline_access',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refreshRefused: { page: TOKEN, unread: true, status: 400, body: { error: 'invalid_grant' } },
  introspection: {
    active: {
      page: TOKEN,
      unread: true,
      body: { active: true, sub: '$subject', client_id: 'portcullis', token_type: 'Bearer' },
    },
    inactive: { page: TOKEN, unread: true, body: INACTIVE },
  },
  userinfo: {
    user: { page: TOKEN, unread: true, body: { sub: '$subject' } },
    refused: { page: TOKEN, unread: true, status: 401, body: null },
  },
  revocation: {
    page: TOKEN,
    unread: true,
    request: { method: 'POST', path: '/4d6bb1a1/as/revoke', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: { page: TOKEN, unread: true, status: 503, body: null },
  loginPrompt: { page: TOKEN, unread: true, value: 'login' },
};
