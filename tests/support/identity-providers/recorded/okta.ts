/** Okta, its custom authorization server `default`, with rotation of refresh tokens. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const API = 'https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/tag/CustomAS/';
const REFRESH = 'https://developer.okta.com/docs/guides/refresh-tokens/main/';

export const okta: RecordedProvider = {
  subjects: ['00uid4BxXw6I6TV4m0g3', '00uid4BxXw6I6TV4m0g4'],
  metadata: {
    page: API,
    unread: true,
    body: {
      issuer: '$origin/oauth2/default',
      authorization_endpoint: '$origin/oauth2/default/v1/authorize',
      token_endpoint: '$origin/oauth2/default/v1/token',
      userinfo_endpoint: '$origin/oauth2/default/v1/userinfo',
      introspection_endpoint: '$origin/oauth2/default/v1/introspect',
      revocation_endpoint: '$origin/oauth2/default/v1/revoke',
      jwks_uri: '$origin/oauth2/default/v1/keys',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: {
    page: API,
    unread: true,
    claims: { ver: 1, amr: ['pwd'], idp: '00o1k4rrhqVbD7hbO0h7', preferred_username: 'john.doe@example.com' },
  },
  denied: {
    page: API,
    unread: true,
    body: { error: 'access_denied', error_description: 'User is not assigned to the client application.' },
  },
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
    page: REFRESH,
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
  refreshRefused: {
    page: REFRESH,
    unread: true,
    status: 400,
    body: { error: 'invalid_grant', error_description: 'The refresh token is invalid or expired.' },
  },
  // The login name in `sub`, the user in `uid`.
  introspection: {
    active: {
      page: API,
      unread: true,
      body: {
        active: true,
        token_type: 'Bearer',
        scope: 'openid profile offline_access',
        client_id: 'portcullis',
        username: 'john.doe@example.com',
        sub: 'john.doe@example.com',
        uid: '$subject',
      },
    },
    inactive: {
      page: 'https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/orgas/revoke',
      body: INACTIVE,
    },
  },
  userinfo: {
    user: { page: API, unread: true, body: { sub: '$subject', preferred_username: 'john.doe@example.com' } },
    refused: { page: API, unread: true, status: 401, body: null },
  },
  revocation: {
    page: 'https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/orgas/revoke',
    request: {
      method: 'POST',
      path: '/oauth2/default/v1/revoke',
      parameters: { token: '$refreshToken', token_type_hint: 'refresh_token' },
    },
    body: null,
  },
  unavailable: {
    page: 'https://developer.okta.com/docs/reference/rl-best-practices/',
    unread: true,
    status: 429,
    headers: { 'x-rate-limit-remaining': '0' },
    body: { errorCode: 'E0000047' },
  },
  loginPrompt: { page: API, unread: true, value: 'login' },
};
