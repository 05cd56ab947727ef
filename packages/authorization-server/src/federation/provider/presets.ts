/** Presets: what has to be known of a third party besides the client that was registered there. */
import type { IdentityProviderOptions } from './options.ts';

/** What nobody but the operator knows. Everything else may be said differently as well. */
export type PresetOptions = Pick<IdentityProviderOptions, 'clientId'> &
  Partial<Omit<IdentityProviderOptions, 'clientId' | 'kind'>>;

/**
 * GitHub, for OAuth apps and GitHub Apps. Tokens of OAuth apps never expire and nothing renews them; those of GitHub Apps
 * expire after eight hours and are renewed. People are known by their number. One token is revoked at a time.
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
 * Google. A refresh token comes only with `access_type=offline`, and again only when the person is asked again. Revoking one
 * token ends what the person allowed this client altogether, so it waits for the last bond.
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
    ...options,
    parameters: { access_type: 'offline', prompt: 'consent', ...options.parameters },
    kind: { issuer: 'https://accounts.google.com' },
  };
}

/**
 * Microsoft Entra, one organization: whoever takes tokens of any organization cannot tell people by the issuer. Access
 * tokens are for the API whose scopes were asked for, and only Microsoft Graph's can be asked who their bearer is, so status
 * is learnt as they are renewed, about every hour. There is no endpoint at which a token is revoked. A `clientKey` is known there
 * by its `certificate`.
 * @param tenant the identifier of the organization: 36 characters
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
      // It wants the address of its token endpoint there, and PS256.
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
 * Okta. Revoking a refresh token ends its access tokens too. A rotated refresh token is forgiven for as long as the client's
 * settings there say.
 * @param domain such as `example.okta.com`
 * @param server the identifier of a custom authorization server, such as `default`; left out: that of the organization
 * @see https://developer.okta.com/docs/concepts/auth-servers/
 * @see https://developer.okta.com/docs/guides/revoke-tokens/main/
 */
export function okta(domain: string, options: PresetOptions, server?: string): IdentityProviderOptions {
  return {
    id: 'okta',
    name: 'Okta',
    scopes: ['openid', 'profile', 'offline_access'],
    ...options,
    kind: { issuer: `https://${domain}${server === undefined ? '' : `/oauth2/${server}`}` },
  };
}

/**
 * Auth0. Its issuer ends with a slash. Which API a token is for is said by the parameter `audience`. In tenants from before 2021
 * revoking a refresh token deletes the whole grant, unless that is switched off: then say `revocationEnds: 'everything'`.
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
 * Keycloak. With `offline_access` tokens outlive the session there. Revoking a refresh token takes back what the person allowed
 * this client altogether, so it waits for the last bond.
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
 * GitLab, its own or somebody's. Access tokens expire after two hours and are always renewable.
 * @param baseUrl `https://gitlab.com` when left out
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
 * Slack, acting for a person: scopes are user scopes. Tokens never expire, unless the app rotates them: then they live for
 * twelve hours and are renewed. People are known by team and user together. One person has one token for an app, so revoking
 * it ends everything and waits for the last bond.
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
