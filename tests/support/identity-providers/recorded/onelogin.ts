/** OneLogin. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const API = 'https://developers.onelogin.com/openid-connect/api';
const VALIDATE = `${API}/validate-token`;

export const onelogin: RecordedProvider = {
  subjects: ['38094560', '38094561'],
  metadata: {
    page: API,
    unread: true,
    body: {
      issuer: '$origin/oidc/2',
      authorization_endpoint: '$origin/oidc/2/auth',
      token_endpoint: '$origin/oidc/2/token',
      userinfo_endpoint: '$origin/oidc/2/me',
      introspection_endpoint: '$origin/oidc/2/token/introspection',
      revocation_endpoint: '$origin/oidc/2/token/revocation',
      jwks_uri: '$origin/oidc/2/certs',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: { page: API, unread: true, claims: { name: 'Ada' } },
  denied: { page: API, unread: true, body: { error: 'access_denied' } },
  token: {
    page: API,
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
    page: API,
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
  refreshRefused: { page: API, unread: true, status: 400, body: { error: 'invalid_grant' } },
  introspection: {
    active: {
      page: VALIDATE,
      unread: true,
      body: { active: true, sub: '$subject', client_id: 'portcullis', token_type: 'Bearer' },
    },
    inactive: { page: VALIDATE, body: INACTIVE },
  },
  userinfo: {
    user: { page: API, unread: true, body: { sub: '$subject' } },
    refused: { page: API, unread: true, status: 401, body: null },
  },
  revocation: {
    page: VALIDATE,
    unread: true,
    request: { method: 'POST', path: '/oidc/2/token/revocation', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: { page: API, unread: true, status: 503, body: null },
  loginPrompt: { page: API, unread: true, value: 'login' },
};
