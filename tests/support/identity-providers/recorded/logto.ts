/** Logto. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const DOCS = 'https://docs.logto.io/docs/recipes/openid-connect/introspect-tokens/';

export const logto: RecordedProvider = {
  subjects: ['foo123', 'foo124'],
  metadata: {
    page: DOCS,
    unread: true,
    body: {
      issuer: '$origin/oidc',
      authorization_endpoint: '$origin/oidc/auth',
      token_endpoint: '$origin/oidc/token',
      userinfo_endpoint: '$origin/oidc/me',
      introspection_endpoint: '$origin/oidc/token/introspection',
      revocation_endpoint: '$origin/oidc/token/revocation',
      jwks_uri: '$origin/oidc/jwks',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: { page: DOCS, unread: true, claims: { username: 'ada' } },
  denied: { page: DOCS, unread: true, body: { error: 'access_denied' } },
  token: {
    page: DOCS,
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
    page: DOCS,
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
  refreshRefused: { page: DOCS, unread: true, status: 400, body: { error: 'invalid_grant' } },
  introspection: {
    active: {
      page: DOCS,
      unread: true,
      body: { active: true, sub: '$subject', client_id: 'portcullis', token_type: 'Bearer' },
    },
    inactive: { page: DOCS, unread: true, body: INACTIVE },
  },
  userinfo: {
    user: { page: DOCS, unread: true, body: { sub: '$subject' } },
    refused: { page: DOCS, unread: true, status: 401, body: null },
  },
  revocation: {
    page: DOCS,
    unread: true,
    request: { method: 'POST', path: '/oidc/token/revocation', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: { page: DOCS, unread: true, status: 503, body: null },
  loginPrompt: { page: DOCS, unread: true, value: 'login' },
};
