/** Apple, checked by refreshing: an access token works at none of its endpoints. */
import type { RecordedProvider } from './recorded-provider.ts';

const API = 'https://developer.apple.com/documentation/signinwithapplerestapi';

export const apple: RecordedProvider = {
  subjects: ['001234.5f7c8ec7c33c6c004bbafe82.0123', '001234.5f7c8ec7c33c6c004bbafe83.0123'],
  metadata: {
    page: 'https://appleid.apple.com/.well-known/openid-configuration',
    unread: true,
    body: {
      issuer: '$origin',
      authorization_endpoint: '$origin/auth/authorize',
      token_endpoint: '$origin/auth/token',
      revocation_endpoint: '$origin/auth/revoke',
      jwks_uri: '$origin/auth/keys',
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    },
  },
  idToken: {
    page: `${API}/authenticating-users-with-sign-in-with-apple`,
    unread: true,
    claims: { email: 'ada@privaterelay.appleid.com', email_verified: 'true', nonce_supported: true },
  },
  denied: {
    page: `${API}/request-an-authorization-to-the-sign-in-with-apple-server.`,
    unread: true,
    body: { error: 'user_cancelled_authorize' },
  },
  token: {
    page: `${API}/generate-and-validate-tokens`,
    body: {
      access_token: '$accessToken',
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  // The refresh token stays.
  refresh: {
    page: 'https://developer.apple.com/forums/thread/123909',
    body: { access_token: '$accessToken', token_type: 'Bearer', expires_in: 3600 },
  },
  refreshRefused: {
    page: 'https://developer.apple.com/forums/thread/123909',
    status: 400,
    body: { error: 'invalid_grant' },
  },
  revocation: {
    page: `${API}/revoke-tokens`,
    request: {
      method: 'POST',
      path: '/auth/revoke',
      parameters: { token: '$refreshToken', token_type_hint: 'refresh_token', client_id: 'portcullis' },
    },
    body: null,
  },
  unavailable: { page: API, unread: true, status: 503, body: null },
  loginPrompt: { page: API, unread: true, value: 'login' },
};
