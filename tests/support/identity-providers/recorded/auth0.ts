/** Auth0, with rotation of refresh tokens. */
import type { RecordedProvider } from './recorded-provider.ts';

const API = 'https://auth0.com/docs/api/authentication';

export const auth0: RecordedProvider = {
  subjects: ['auth0|5f7c8ec7c33c6c004bbafe82', 'auth0|5f7c8ec7c33c6c004bbafe83'],
  metadata: {
    page: API,
    unread: true,
    body: {
      issuer: '$origin/',
      authorization_endpoint: '$origin/authorize',
      token_endpoint: '$origin/oauth/token',
      userinfo_endpoint: '$origin/userinfo',
      revocation_endpoint: '$origin/oauth/revoke',
      jwks_uri: '$origin/.well-known/jwks.json',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: { page: API, unread: true, claims: { name: 'Jane Doe', sid: 'rxfB8yXmjmvYyJ7hbCk8QyBeJ0oMIYLd' } },
  denied: { page: API, unread: true, body: { error: 'access_denied', error_description: 'User denied.' } },
  token: {
    page: API,
    unread: true,
    body: {
      access_token: '$accessToken',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
      scope: 'openid profile offline_access',
      token_type: 'Bearer',
      expires_in: 86_400,
    },
  },
  refresh: {
    page: API,
    unread: true,
    body: {
      access_token: '$accessToken',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
      scope: 'openid profile offline_access',
      token_type: 'Bearer',
      expires_in: 86_400,
    },
  },
  refreshRefused: {
    page: 'https://support.auth0.com/center/s/article/troubleshoot-refresh-token-unknown-or-invalid-before-expiry-403-unknown-or-invalid-refresh-token',
    status: 403,
    body: { error: 'invalid_grant', error_description: 'Unknown or invalid refresh token.' },
  },
  userinfo: {
    user: { page: API, unread: true, body: { sub: '$subject', name: 'Jane Doe' } },
    refused: { page: API, unread: true, status: 401, body: null },
  },
  revocation: {
    page: 'https://auth0.com/docs/secure/tokens/refresh-tokens/revoke-refresh-tokens',
    request: { method: 'POST', path: '/oauth/revoke', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: {
    page: 'https://auth0.com/docs/troubleshoot/customer-support/operational-policies/rate-limit-policy',
    unread: true,
    status: 429,
    headers: { 'retry-after': '30', 'x-ratelimit-remaining': '0' },
    body: { error: 'too_many_requests' },
  },
  loginPrompt: { page: API, unread: true, value: 'login' },
};
