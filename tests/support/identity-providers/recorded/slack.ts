/** Slack, user scopes, with token rotation. */
import type { RecordedProvider } from './recorded-provider.ts';

const ROTATION = 'https://docs.slack.dev/authentication/using-token-rotation';
const METHODS = 'https://docs.slack.dev/reference/methods';

export const slack: RecordedProvider = {
  subjects: ['W12345678', 'W12345679'],
  metadata: {
    page: `${METHODS}/oauth.v2.access`,
    unread: true,
    body: {
      authorization_endpoint: '$origin/oauth/v2/authorize',
      token_endpoint: '$origin/api/oauth.v2.access',
      userinfo_endpoint: '$origin/api/auth.test',
      revocation_endpoint: '$origin/api/auth.revoke',
    },
  },
  idToken: null,
  denied: {
    page: 'https://docs.slack.dev/authentication/installing-with-oauth',
    unread: true,
    body: { error: 'access_denied' },
  },
  token: {
    page: ROTATION,
    unread: true,
    body: {
      ok: true,
      app_id: 'A0KRD7HC3',
      authed_user: {
        id: '$subject',
        scope: 'users:read',
        access_token: '$accessToken',
        expires_in: 43_200,
        refresh_token: '$refreshToken',
        token_type: 'user',
      },
      team: { id: 'T12345678' },
    },
  },
  // The members of a refreshed user token are not inside `authed_user`.
  refresh: {
    page: 'https://docs.slack.dev/tools/node-slack-sdk/reference/oauth/interfaces/OAuthV2TokenRefreshResponse',
    body: {
      ok: true,
      access_token: '$accessToken',
      expires_in: 43_200,
      refresh_token: '$refreshToken',
      token_type: 'user',
      scope: 'users:read',
      team: { id: 'T12345678' },
    },
  },
  refreshRefused: {
    page: `${METHODS}/oauth.v2.access`,
    unread: true,
    body: { ok: false, error: 'invalid_refresh_token' },
  },
  userinfo: {
    user: {
      page: `${METHODS}/auth.test`,
      unread: true,
      body: { ok: true, user: 'grace', team_id: 'T12345678', user_id: '$subject' },
    },
    refused: { page: `${METHODS}/auth.test`, unread: true, body: { ok: false, error: 'token_revoked' } },
  },
  revocation: {
    page: `${METHODS}/auth.revoke`,
    unread: true,
    request: { method: 'POST', path: '/api/auth.revoke', parameters: {} },
    body: { ok: true, revoked: true },
  },
  unavailable: {
    page: 'https://docs.slack.dev/apis/web-api/rate-limits',
    unread: true,
    status: 429,
    headers: { 'retry-after': '30' },
    body: { ok: false, error: 'ratelimited' },
  },
  loginPrompt: null,
};
