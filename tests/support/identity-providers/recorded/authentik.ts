/** Authentik, an application of its OAuth 2.0 provider with the scope mapping `offline_access`. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const PROVIDER = 'https://docs.goauthentik.io/add-secure-apps/providers/oauth2/';

export const authentik: RecordedProvider = {
  subjects: ['7d9f3b2c5e1a4f8890ab', '7d9f3b2c5e1a4f8890ac'],
  metadata: {
    page: PROVIDER,
    body: {
      issuer: '$origin/application/o/tools/',
      authorization_endpoint: '$origin/application/o/authorize/',
      token_endpoint: '$origin/application/o/token/',
      userinfo_endpoint: '$origin/application/o/userinfo/',
      introspection_endpoint: '$origin/application/o/introspect/',
      revocation_endpoint: '$origin/application/o/revoke/',
      jwks_uri: '$origin/application/o/tools/jwks/',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  // An address counts as verified only since an administrator says so.
  idToken: { page: PROVIDER, claims: { email: 'ada@example.com', email_verified: false } },
  denied: { page: PROVIDER, unread: true, body: { error: 'access_denied' } },
  token: {
    page: PROVIDER,
    unread: true,
    body: {
      access_token: '$accessToken',
      refresh_token: '$refreshToken',
      token_type: 'Bearer',
      scope: 'openid profile offline_access',
      expires_in: 300,
      id_token: '$idToken',
    },
  },
  refresh: {
    page: PROVIDER,
    unread: true,
    body: {
      access_token: '$accessToken',
      refresh_token: '$refreshToken',
      token_type: 'Bearer',
      scope: 'openid profile offline_access',
      expires_in: 300,
      id_token: '$idToken',
    },
  },
  refreshRefused: { page: PROVIDER, unread: true, status: 400, body: { error: 'invalid_grant' } },
  introspection: {
    active: {
      page: PROVIDER,
      unread: true,
      body: {
        active: true,
        sub: '$subject',
        scope: 'openid profile offline_access',
        client_id: 'portcullis',
      },
    },
    inactive: { page: PROVIDER, unread: true, body: INACTIVE },
  },
  userinfo: {
    user: { page: PROVIDER, unread: true, body: { sub: '$subject' } },
    refused: { page: PROVIDER, unread: true, status: 401, body: null },
  },
  revocation: {
    page: PROVIDER,
    unread: true,
    request: { method: 'POST', path: '/application/o/revoke/', parameters: { token: '$refreshToken' } },
    body: {},
  },
  unavailable: { page: PROVIDER, unread: true, status: 503, body: null },
  loginPrompt: { page: PROVIDER, unread: true, value: 'login' },
};
