/** Microsoft Entra, one tenant. */
import type { RecordedProvider } from './recorded-provider.ts';

const TENANT = '8eaef023-2b34-4da1-9baa-8bc8c9d6a490';
const CODE_FLOW = 'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow';

export const entra: RecordedProvider = {
  subjects: ['AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ', 'AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtbR'],
  metadata: {
    page: 'https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc',
    unread: true,
    body: {
      issuer: `$origin/${TENANT}/v2.0`,
      authorization_endpoint: `$origin/${TENANT}/oauth2/v2.0/authorize`,
      token_endpoint: `$origin/${TENANT}/oauth2/v2.0/token`,
      userinfo_endpoint: '$origin/oidc/userinfo',
      jwks_uri: `$origin/${TENANT}/discovery/v2.0/keys`,
      id_token_signing_alg_values_supported: ['RS256'],
      token_endpoint_auth_methods_supported: ['client_secret_post', 'private_key_jwt', 'client_secret_basic'],
    },
  },
  idToken: {
    page: 'https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference',
    unread: true,
    claims: { tid: TENANT, oid: '00000000-0000-0000-66f3-3332eca7ea81', ver: '2.0' },
  },
  denied: {
    page: CODE_FLOW,
    body: { error: 'access_denied', error_description: 'the user canceled the authentication' },
  },
  // `offline_access` is not among the scopes.
  token: {
    page: CODE_FLOW,
    body: {
      access_token: '$accessToken',
      token_type: 'Bearer',
      expires_in: 3599,
      scope: 'openid profile',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refresh: {
    page: `${CODE_FLOW}#refresh-the-access-token`,
    body: {
      access_token: '$accessToken',
      token_type: 'Bearer',
      expires_in: 3599,
      scope: 'openid profile',
      refresh_token: '$refreshToken',
      id_token: '$idToken',
    },
  },
  refreshRefused: {
    page: `${CODE_FLOW}#error-codes-for-token-endpoint-errors`,
    status: 400,
    body: {
      error: 'invalid_grant',
      error_description: 'AADSTS50173: The grant was revoked.',
      error_codes: [50_173],
      timestamp: '2016-01-09 02:02:12Z',
      trace_id: '0000aaaa-11bb-cccc-dd22-eeeeee333333',
      correlation_id: 'aaaa0000-bb11-2222-33cc-444444dddddd',
    },
  },
  revocation: null,
  // The page names no status: that of other errors.
  unavailable: {
    page: `${CODE_FLOW}#error-codes-for-token-endpoint-errors`,
    status: 400,
    body: { error: 'temporarily_unavailable', error_codes: [90_033] },
  },
  loginPrompt: { page: CODE_FLOW, value: 'login' },
};
