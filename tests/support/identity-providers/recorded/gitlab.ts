/** GitLab. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const API = 'https://docs.gitlab.com/api/oauth2/';
const OPENID = 'https://docs.gitlab.com/integration/openid_connect_provider/';
const DOORKEEPER = 'https://github.com/doorkeeper-gem/doorkeeper/wiki/API-endpoint-descriptions-and-examples';

export const gitlab: RecordedProvider = {
  subjects: ['3124', '3125'],
  metadata: {
    page: OPENID,
    unread: true,
    body: {
      issuer: '$origin',
      authorization_endpoint: '$origin/oauth/authorize',
      token_endpoint: '$origin/oauth/token',
      userinfo_endpoint: '$origin/oauth/userinfo',
      introspection_endpoint: '$origin/oauth/introspect',
      revocation_endpoint: '$origin/oauth/revoke',
      jwks_uri: '$origin/oauth/discovery/keys',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: { page: OPENID, unread: true, claims: { sub_legacy: 'a1b2c3', name: 'Ada', nickname: 'ada' } },
  denied: { page: API, unread: true, body: { error: 'access_denied' } },
  // `token_type` in lower case, no `scope`.
  token: {
    page: API,
    body: {
      access_token: '$accessToken',
      token_type: 'bearer',
      expires_in: 7200,
      refresh_token: '$refreshToken',
      created_at: 1_607_635_748,
      id_token: '$idToken',
    },
  },
  refresh: {
    page: API,
    body: {
      access_token: '$accessToken',
      token_type: 'bearer',
      expires_in: 7200,
      refresh_token: '$refreshToken',
      created_at: 1_628_711_391,
    },
  },
  refreshRefused: { page: API, unread: true, status: 400, body: { error: 'invalid_grant' } },
  // Doorkeeper names no user.
  introspection: {
    active: {
      page: DOORKEEPER,
      unread: true,
      body: { active: true, scope: 'openid profile', client_id: 'portcullis', token_type: 'Bearer' },
    },
    inactive: { page: DOORKEEPER, unread: true, body: INACTIVE },
  },
  userinfo: {
    user: { page: OPENID, unread: true, body: { sub: '$subject', nickname: 'ada' } },
    refused: { page: OPENID, unread: true, status: 401, body: { error: 'invalid_token' } },
  },
  revocation: {
    page: `${API}#revoke-a-token`,
    request: { method: 'POST', path: '/oauth/revoke', parameters: { token: '$refreshToken' } },
    body: {},
  },
  unavailable: {
    page: 'https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/',
    unread: true,
    status: 429,
    headers: { 'retry-after': '30', 'ratelimit-remaining': '0' },
    body: null,
  },
  loginPrompt: { page: OPENID, unread: true, value: 'login' },
};
