/** The options of better-auth as an authorization server whose clients register themselves, for tests and measurements. */

/** Without a database and plugins. */
export function baseOptions(origin: string) {
  return {
    secret: 'only for tests, and long enough: 0123456789',
    baseURL: origin,
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
  };
}

/** Of its plugin `oauthProvider`. */
export function providerOptions(resource: string, scopes: readonly string[]) {
  return {
    loginPage: '/login',
    consentPage: '/consent',
    scopes,
    resources: [{ identifier: resource, allowedScopes: scopes }],
    enforcePerClientResources: false,
    allowDynamicClientRegistration: true,
    allowUnauthenticatedClientRegistration: true,
    clientRegistrationAllowedScopes: scopes,
    clientRegistrationDefaultScopes: scopes,
    silenceWarnings: { oauthAuthServerConfig: true },
  };
}
