/** GitHub, a GitHub App whose user access tokens expire. */
import type { RecordedProvider } from './recorded-provider.ts';

const APPS = 'https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app';
const REFRESH = `${APPS}/refreshing-user-access-tokens`;
const REST = 'https://docs.github.com/en/rest';

export const github: RecordedProvider = {
  subjects: [583_231, 583_232],
  metadata: {
    page: 'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
    unread: true,
    body: {
      authorization_endpoint: '$origin/login/oauth/authorize',
      token_endpoint: '$origin/login/oauth/access_token',
      userinfo_endpoint: '$origin/user',
      revocation_endpoint: '$origin/applications',
    },
  },
  idToken: null,
  denied: {
    page: 'https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-authorization-request-errors',
    unread: true,
    body: { error: 'access_denied', error_description: 'The user has denied your application access.' },
  },
  // The page includes the list of members from another one, which was not available.
  token: {
    page: REFRESH,
    unread: true,
    body: {
      access_token: '$accessToken',
      expires_in: 28_800,
      refresh_token: '$refreshToken',
      refresh_token_expires_in: 15_897_600,
      scope: '',
      token_type: 'bearer',
    },
  },
  refresh: {
    page: REFRESH,
    body: {
      access_token: '$accessToken',
      expires_in: 28_800,
      refresh_token: '$refreshToken',
      refresh_token_expires_in: 15_897_600,
      scope: '',
      token_type: 'bearer',
    },
  },
  // Errors have status 200.
  refreshRefused: {
    page: `${APPS}/generating-a-user-access-token-for-a-github-app`,
    unread: true,
    body: { error: 'bad_refresh_token', error_description: 'The refresh token is incorrect or expired.' },
  },
  userinfo: {
    user: { page: `${REST}/users/users`, unread: true, body: { id: '$subject', login: 'octocat' } },
    refused: { page: REST, unread: true, status: 401, body: { message: 'Bad credentials' } },
  },
  revocation: {
    page: `${REST}/apps/oauth-applications#delete-an-app-token`,
    unread: true,
    request: {
      method: 'DELETE',
      path: '/applications/portcullis/token',
      parameters: { access_token: '$accessToken' },
    },
    status: 204,
    body: null,
  },
  // A rate limit has status 403.
  unavailable: {
    page: `${REST}/using-the-rest-api/rate-limits-for-the-rest-api`,
    unread: true,
    status: 403,
    headers: { 'x-ratelimit-remaining': '0', 'retry-after': '60' },
    body: { message: 'API rate limit exceeded' },
  },
  loginPrompt: null,
};
