/** Presets of identity providers: everything except the client registered with them. */
import type { IdentityProviderOptions, PresetOptions } from './options.ts';

/**
 * GitHub, for OAuth apps and GitHub Apps. Tokens of OAuth apps never expire and cannot be refreshed; those of GitHub Apps
 * expire after eight hours and can. Users are identified by their numeric id. Tokens are revoked one at a time.
 * @see https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
 * @see https://docs.github.com/en/apps/github-authentication-discovery-endpoints
 * @see https://docs.github.com/en/rest/apps/oauth-applications#delete-an-app-token
 */
export function github(options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'github',
    name: 'GitHub',
    scopes: ['read:user'],
    clientAuthentication: 'client_secret_post',
    ...options,
    kind: {
      issuer: 'https://github.com/login/oauth',
      endpoints: {
        authorization: 'https://github.com/login/oauth/authorize',
        token: 'https://github.com/login/oauth/access_token',
        userinfo: 'https://api.github.com/user',
        revocation: 'https://api.github.com/applications',
      },
      userinfoClaims: { subject: 'id', name: 'login' },
      responseFormat: 'github',
    },
  };
}

/**
 * Google. Issues a refresh token only with `access_type=offline`, and another only after a new consent prompt. Revoking one
 * token revokes everything the user granted this client, so revocation waits for the user's last grant here.
 * @see https://developers.google.com/identity/protocols/oauth2/web-server#offline
 * @see https://developers.google.com/identity/protocols/oauth2/web-server#tokenrevoke
 * @see https://accounts.google.com/.well-known/openid-configuration
 */
export function google(options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'google',
    name: 'Google',
    scopes: ['openid', 'email'],
    revocationEnds: 'everything',
    // `login` is none of the values of `prompt` that Google documents.
    loginPrompt: 'select_account',
    ...options,
    parameters: { access_type: 'offline', prompt: 'consent', ...options.parameters },
    kind: { issuer: 'https://accounts.google.com' },
  };
}

/**
 * Microsoft Entra, one tenant: across tenants the issuer would not identify users. An access token is for the API whose scopes
 * were requested, and only those of Microsoft Graph work at userinfo, so the status is checked when tokens are refreshed, about
 * every hour. There is no revocation endpoint. A `clientKey` is identified by its `certificate`.
 * @param tenant the tenant id, 36 characters
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/refresh-tokens
 */
export function microsoftEntra(tenant: string, options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'microsoft',
    name: 'Microsoft',
    scopes: ['openid', 'profile', 'offline_access'],
    status: 'expiry',
    ...options,
    ...(options.clientKey !== undefined && {
      // Entra requires the token endpoint as the audience, and PS256.
      clientKey: {
        audience: `https://login.microsoftonline.com/${tenant}/oauth2/v2.0/token`,
        algorithm: 'PS256' as const,
        ...options.clientKey,
      },
    }),
    kind: { issuer: `https://login.microsoftonline.com/${tenant}/v2.0` },
  };
}

/**
 * Okta. Revoking a refresh token also revokes its access tokens. The grace period of a rotated refresh token is a setting of
 * the client at Okta. Introspection of an access token has the login name in `sub`; the user's id, which is `sub` of ID tokens,
 * is in `uid`.
 * @param domain such as `example.okta.com`
 * @param server id of a custom authorization server, such as `default`. Default: the organization's
 * @see https://developer.okta.com/docs/concepts/auth-servers/
 * @see https://developer.okta.com/docs/guides/revoke-tokens/main/
 * @see https://developer.okta.com/docs/api/openapi/okta-oauth/oauth/tag/CustomAS/
 */
export function okta(domain: string, options: PresetOptions, server?: string): IdentityProviderOptions {
  return {
    id: 'okta',
    name: 'Okta',
    scopes: ['openid', 'profile', 'offline_access'],
    introspectionSubject: 'uid',
    ...options,
    kind: { issuer: `https://${domain}${server === undefined ? '' : `/oauth2/${server}`}` },
  };
}

/**
 * Auth0. Its issuer ends with a slash. The parameter `audience` selects the API that a token is for. In tenants created before
 * 2021, revoking a refresh token deletes the whole grant by default: set `revocationEnds: 'everything'` for them.
 * @param domain such as `example.eu.auth0.com`
 * @see https://auth0.com/docs/get-started/authentication-and-authorization-flow/authorization-code-flow
 * @see https://auth0.com/docs/secure/tokens/refresh-tokens/revoke-refresh-tokens
 */
export function auth0(domain: string, options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'auth0',
    name: 'Auth0',
    scopes: ['openid', 'profile', 'offline_access'],
    ...options,
    kind: { issuer: `https://${domain}/` },
  };
}

/**
 * Keycloak. With `offline_access`, tokens outlive the Keycloak session. Revoking a refresh token revokes everything the user
 * granted this client, so revocation waits for the user's last grant here.
 * @param baseUrl such as `https://sso.example.org`, without `/realms`
 * @see https://www.keycloak.org/securing-apps/oidc-layers
 * @see https://github.com/keycloak/keycloak/issues/12916
 */
export function keycloak(baseUrl: string, realm: string, options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'keycloak',
    name: 'Keycloak',
    scopes: ['openid', 'profile', 'offline_access'],
    revocationEnds: 'everything',
    ...options,
    kind: { issuer: `${baseUrl.replace(/\/$/, '')}/realms/${encodeURIComponent(realm)}` },
  };
}

/**
 * GitLab, hosted or self-managed. Access tokens expire after two hours and can always be refreshed.
 * @param baseUrl default: `https://gitlab.com`
 * @see https://docs.gitlab.com/api/oauth2/
 * @see https://docs.gitlab.com/integration/openid_connect_provider/
 */
export function gitlab(options: PresetOptions, baseUrl = 'https://gitlab.com'): IdentityProviderOptions {
  return {
    id: 'gitlab',
    name: 'GitLab',
    scopes: ['openid', 'profile'],
    ...options,
    kind: { issuer: baseUrl.replace(/\/$/, '') },
  };
}

/**
 * Slack, with user scopes. Tokens never expire unless token rotation is enabled for the app: then after twelve hours, and they
 * can be refreshed. Users are identified by team and user together. A user has one token per app, so revoking it revokes
 * everything, and revocation waits for the user's last grant here.
 * @see https://docs.slack.dev/authentication/installing-with-oauth
 * @see https://docs.slack.dev/authentication/using-token-rotation
 * @see https://docs.slack.dev/reference/methods/auth.test
 * @see https://docs.slack.dev/reference/methods/auth.revoke
 */
export function slack(options: PresetOptions): IdentityProviderOptions {
  return {
    id: 'slack',
    name: 'Slack',
    scopes: ['users:read'],
    revocationEnds: 'everything',
    ...options,
    kind: {
      endpoints: {
        authorization: 'https://slack.com/oauth/v2/authorize',
        token: 'https://slack.com/api/oauth.v2.access',
        userinfo: 'https://slack.com/api/auth.test',
        revocation: 'https://slack.com/api/auth.revoke',
      },
      userinfoClaims: { subject: 'subject', name: 'user' },
      responseFormat: 'slack',
    },
  };
}
