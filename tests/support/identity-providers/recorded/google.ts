/** Google, with `access_type=offline`. */
import type { RecordedProvider } from './recorded-provider.ts';

const WEB_SERVER = 'https://developers.google.com/identity/protocols/oauth2/web-server';
const OPENID = 'https://developers.google.com/identity/openid-connect/openid-connect';

export const google: RecordedProvider = {
  subjects: ['110169484474386276334', '110169484474386276335'],
  metadata: {
    page: 'https://accounts.google.com/.well-known/openid-configuration',
    unread: true,
    body: {
      issuer: '$origin',
      authorization_endpoint: '$origin/o/oauth2/v2/auth',
      token_endpoint: '$origin/token',
      userinfo_endpoint: '$origin/v1/userinfo',
      revocation_endpoint: '$origin/revoke',
      jwks_uri: '$origin/oauth2/v3/certs',
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    },
  },
  idToken: {
    page: OPENID,
    unread: true,
    claims: { azp: 'portcullis', email: 'jsmith@example.com', email_verified: true, hd: 'example.com' },
  },
  denied: { page: WEB_SERVER, unread: true, body: { error: 'access_denied' } },
  token: {
    page: WEB_SERVER,
    unread: true,
    body: {
      access_token: '$accessToken',
      expires_in: 3920,
      scope: 'openid https://www.googleapis.com/auth/userinfo.email',
      token_type: 'Bearer',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  // The refresh token stays.
  refresh: {
    page: `${WEB_SERVER}#offline`,
    unread: true,
    body: {
      access_token: '$accessToken',
      expires_in: 3920,
      scope: 'openid https://www.googleapis.com/auth/userinfo.email',
      token_type: 'Bearer',
    },
  },
  // As a third party reports it.
  refreshRefused: {
    page: 'https://www.nango.dev/blog/google-oauth-invalid-grant-token-has-been-expired-or-revoked',
    status: 400,
    body: { error: 'invalid_grant', error_description: 'Token has been expired or revoked.' },
  },
  userinfo: {
    user: {
      page: OPENID,
      unread: true,
      body: { sub: '$subject', email: 'jsmith@example.com', email_verified: true },
    },
    refused: { page: OPENID, unread: true, status: 401, body: { error: 'invalid_request' } },
  },
  revocation: {
    page: `${WEB_SERVER}#tokenrevoke`,
    unread: true,
    request: { method: 'POST', path: '/revoke', parameters: { token: '$refreshToken' } },
    body: {},
  },
  unavailable: { page: WEB_SERVER, unread: true, status: 503, headers: { 'retry-after': '60' }, body: null },
  loginPrompt: { page: OPENID, unread: true, value: 'select_account consent' },
};
