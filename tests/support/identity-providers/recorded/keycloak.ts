/** Keycloak, the realm `staff`. */
import { INACTIVE, type RecordedProvider } from './recorded-provider.ts';

const LAYERS = 'https://www.keycloak.org/securing-apps/oidc-layers';
const BASE = '$origin/realms/staff/protocol/openid-connect';

export const keycloak: RecordedProvider = {
  subjects: ['9a1c5e0e-6a4a-4f2e-8a3f-0e1d1c2b3a49', 'b71c5e0e-6a4a-4f2e-8a3f-0e1d1c2b3a49'],
  metadata: {
    page: LAYERS,
    unread: true,
    body: {
      issuer: '$origin/realms/staff',
      authorization_endpoint: `${BASE}/auth`,
      token_endpoint: `${BASE}/token`,
      userinfo_endpoint: `${BASE}/userinfo`,
      introspection_endpoint: `${BASE}/token/introspect`,
      revocation_endpoint: `${BASE}/revoke`,
      jwks_uri: `${BASE}/certs`,
      id_token_signing_alg_values_supported: ['RS256'],
      authorization_response_iss_parameter_supported: true,
    },
  },
  idToken: { page: LAYERS, unread: true, claims: { typ: 'ID', azp: 'portcullis', acr: '1' } },
  denied: { page: LAYERS, unread: true, body: { error: 'access_denied' } },
  token: {
    page: LAYERS,
    unread: true,
    body: {
      access_token: '$accessToken',
      expires_in: 300,
      refresh_expires_in: 0,
      refresh_token: '$refreshToken',
      token_type: 'Bearer',
      id_token: '$idToken',
      'not-before-policy': 0,
      session_state: 'a856fb91-eb5f-4a2f-9f2f-0d0b7b1a5d0c',
      scope: 'openid profile offline_access',
    },
  },
  refresh: {
    page: LAYERS,
    unread: true,
    body: {
      access_token: '$accessToken',
      expires_in: 300,
      refresh_expires_in: 0,
      refresh_token: '$refreshToken',
      token_type: 'Bearer',
      id_token: '$idToken',
      'not-before-policy': 0,
      session_state: 'a856fb91-eb5f-4a2f-9f2f-0d0b7b1a5d0c',
      scope: 'openid profile offline_access',
    },
  },
  refreshRefused: {
    page: LAYERS,
    unread: true,
    status: 400,
    body: { error: 'invalid_grant', error_description: 'Session not active' },
  },
  introspection: {
    active: {
      page: LAYERS,
      unread: true,
      body: { active: true, sub: '$subject', username: 'ada', client_id: 'portcullis', token_type: 'Bearer' },
    },
    inactive: { page: LAYERS, unread: true, body: INACTIVE },
  },
  userinfo: {
    user: { page: LAYERS, unread: true, body: { sub: '$subject', preferred_username: 'ada' } },
    refused: { page: LAYERS, unread: true, status: 401, body: { error: 'invalid_token' } },
  },
  revocation: {
    page: LAYERS,
    unread: true,
    request: {
      method: 'POST',
      path: '/realms/staff/protocol/openid-connect/revoke',
      parameters: { token: '$refreshToken', token_type_hint: 'refresh_token' },
    },
    body: null,
  },
  unavailable: { page: LAYERS, unread: true, status: 503, body: null },
  loginPrompt: { page: LAYERS, unread: true, value: 'login' },
};
