/** Amazon Cognito, a user pool without rotation of refresh tokens. */
import type { RecordedProvider } from './recorded-provider.ts';

const GUIDE = 'https://docs.aws.amazon.com/cognito/latest/developerguide';

export const cognito: RecordedProvider = {
  subjects: ['248289761001', '248289761002'],
  metadata: {
    page: `${GUIDE}/federation-endpoints-oauth-grants.html`,
    unread: true,
    body: {
      issuer: '$origin/us-east-1_EXAMPLE',
      authorization_endpoint: '$origin/oauth2/authorize',
      token_endpoint: '$origin/oauth2/token',
      userinfo_endpoint: '$origin/oauth2/userInfo',
      revocation_endpoint: '$origin/oauth2/revoke',
      jwks_uri: '$origin/us-east-1_EXAMPLE/.well-known/jwks.json',
      id_token_signing_alg_values_supported: ['RS256'],
    },
  },
  idToken: {
    page: `${GUIDE}/amazon-cognito-user-pools-using-the-id-token.html`,
    unread: true,
    claims: { 'cognito:username': 'janedoe', token_use: 'id', email: 'janedoe@example.com' },
  },
  denied: {
    page: `${GUIDE}/authorization-endpoint.html`,
    unread: true,
    body: { error: 'access_denied' },
  },
  // No `scope`.
  token: {
    page: `${GUIDE}/token-endpoint.html`,
    body: {
      access_token: '$accessToken',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
      token_type: 'Bearer',
      expires_in: 3600,
    },
  },
  // The refresh token stays.
  refresh: {
    page: `${GUIDE}/token-endpoint.html`,
    body: { id_token: '$idToken', access_token: '$accessToken', token_type: 'Bearer', expires_in: 3600 },
  },
  refreshRefused: { page: `${GUIDE}/token-endpoint.html`, status: 400, body: { error: 'invalid_grant' } },
  userinfo: {
    user: {
      page: `${GUIDE}/userinfo-endpoint.html`,
      body: { sub: '$subject', name: 'Jane Doe', email: 'janedoe@example.com' },
    },
    refused: {
      page: `${GUIDE}/userinfo-endpoint.html`,
      status: 401,
      headers: { 'www-authenticate': 'error="invalid_token"' },
      body: null,
    },
  },
  revocation: {
    page: `${GUIDE}/revocation-endpoint.html`,
    request: { method: 'POST', path: '/oauth2/revoke', parameters: { token: '$refreshToken' } },
    body: null,
  },
  unavailable: {
    page: `${GUIDE}/limits.html`,
    unread: true,
    status: 429,
    body: null,
  },
  loginPrompt: { page: `${GUIDE}/authorization-endpoint.html`, unread: true, value: 'login' },
};
