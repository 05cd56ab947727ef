/** Zitadel. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const ENDPOINTS = 'https://zitadel.com/docs/apis/openidoauth/endpoints';

export const zitadel: RecordedProvider = {
  subjects: ['222430354126975533', '222430354126975534'],
  metadata: {
    page: ENDPOINTS,
    body: {
      issuer: '$origin',
      authorization_endpoint: '$origin/oauth/v2/authorize',
      token_endpoint: '$origin/oauth/v2/token',
      userinfo_endpoint: '$origin/oidc/v1/userinfo',
      introspection_endpoint: '$origin/oauth/v2/introspect',
      revocation_endpoint: '$origin/oauth/v2/revoke',
      jwks_uri: '$origin/oauth/v2/keys',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: {
    page: 'https://zitadel.com/docs/apis/openidoauth/claims',
    unread: true,
    claims: { amr: ['pwd'] },
  },
  denied: { page: ENDPOINTS, unread: true, body: { error: 'access_denied' } },
  token: {
    page: `${ENDPOINTS}#token-code-response`,
    body: {
      access_token: '$accessToken',
      scope: 'openid profile offline_access',
      token_type: 'Bearer',
      expires_in: 43_199,
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refresh: {
    page: `${ENDPOINTS}#token-refresh-response`,
    body: {
      access_token: '$accessToken',
      scope: 'openid profile offline_access',
      token_type: 'Bearer',
      expires_in: 43_199,
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refreshRefused: { page: ENDPOINTS, status: 400, body: { error: 'invalid_grant' } },
  // `sub` is among the claims that the page adds by scope.
  introspection: {
    active: {
      page: `${ENDPOINTS}#introspection_endpoint`,
      body: {
        active: true,
        client_id: 'portcullis',
        scope: 'openid profile offline_access',
        token_type: 'Bearer',
        username: 'ada@example.com',
        sub: '$subject',
      },
    },
    inactive: { page: `${ENDPOINTS}#introspection_endpoint`, body: INACTIVE },
  },
  userinfo: {
    user: { page: `${ENDPOINTS}#userinfo_endpoint`, body: { sub: '$subject' } },
    refused: { page: `${ENDPOINTS}#userinfo_endpoint`, status: 401, body: null },
  },
  revocation: {
    page: `${ENDPOINTS}#revocation_endpoint`,
    request: { method: 'POST', path: '/oauth/v2/revoke', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: { page: ENDPOINTS, unread: true, status: 503, body: null },
  loginPrompt: { page: ENDPOINTS, value: 'login' },
};
