/** The requirements that doctor checks: severity, revisions and remedy of each. */

interface Rule {
  readonly severity: 'error' | 'warning';
  /** By their letters in docs/requirements: A 2025-03-26, B 2025-06-18, C 2025-11-25, D 2026-07-28. */
  readonly revisions: string;
  readonly remedy: string;
  /** The party that the requirement binds. */
  readonly owner: 'authorization server' | 'server';
}

const table = {
  'S-401-2': ['error', 'ABCD', 'Answer every request without a valid token with status 401.'],
  'S-BEAR-66': ['error', 'ABCD', 'Send a WWW-Authenticate header with every 401.'],
  'S-WA-60': ['error', 'ABCD', 'Put a Bearer challenge with at least one quoted parameter first.'],
  'S-BEAR-63': ['warning', 'ABCD', 'Omit the error from the challenge if the request had no token.'],
  'S-401-1': ['error', 'B', 'Add the metadata URL to the challenge: resource_metadata="<absolute URL>".'],
  'S-SCOPE-20': ['warning', 'CD', 'Add the required scopes to the challenge: scope="...".'],
  'S-VAL-3': ['error', 'ABCD', 'Answer a request with an unknown token with status 401.'],
  'S-BEAR-64': ['warning', 'ABCD', 'Add error="invalid_token" to the challenge for an invalid token.'],
  'S-PRM-20': [
    'error',
    'CD',
    'Serve the metadata at the well-known location, or at the URL in the challenge.',
  ],
  'S-PRM-5': ['error', 'BCD', 'Serve the metadata without requiring a token.'],
  'S-PRM-62': ['error', 'BCD', 'Serve the metadata with status 200, as application/json.'],
  'S-PRM-2': ['error', 'BCD', 'List at least one issuer URL in authorization_servers.'],
  'S-PRM-60': ['error', 'BCD', 'Set resource to the https URL of the server, without a fragment.'],
  'S-PRM-64': ['error', 'BCD', 'Name the URL that clients use as resource, or have them use the named one.'],
  'S-PRM-65': ['warning', 'BCD', 'List scopes_supported, so that clients know what to request.'],
  'AS-META-20': ['error', 'CD', 'Serve RFC 8414 or OpenID Connect metadata at a well-known location.'],
  'AS-META-2': ['error', 'B', 'Serve RFC 8414 metadata at its well-known location.'],
  'AS-META-3': ['error', 'ABCD', 'Serve a metadata document that conforms to RFC 8414.'],
  'AS-META-60': ['error', 'ABCD', 'Use the same issuer everywhere, byte for byte.'],
  'AS-META-61': [
    'error',
    'ABCD',
    'Include authorization_endpoint, token_endpoint and response_types_supported.',
  ],
  'AS-META-62': ['error', 'ABCD', 'List S256 in code_challenge_methods_supported.'],
  'AS-META-64': [
    'warning',
    'ABCD',
    'List token_endpoint_auth_methods_supported, with none for public clients.',
  ],
  'AS-META-71': ['error', 'ABCD', 'Omit members instead of setting them to null.'],
  'AS-HTTPS-1': ['error', 'ABCD', 'Serve every endpoint over https.'],
  'AS-ISS-31': ['warning', 'D', 'Send iss with authorization responses, and advertise it in the metadata.'],
  'AS-DCR-60': ['error', 'ABCD', 'Register public native clients, with status 201 and JSON.'],
  'AS-DCR-61': ['error', 'ABCD', 'Return client_id.'],
  'AS-AUTHZ-1': ['error', 'ABCD', 'Answer requests of registered clients with a page or a redirect.'],
  'AS-ISS-60': ['error', 'D', 'Send the issuer as iss with every authorization response, byte for byte.'],
  'AS-TOK-64': ['error', 'ABCD', 'Answer with status 200, application/json, access_token and token_type.'],
  'AS-TOK-65': ['error', 'ABCD', 'Send Cache-Control: no-store with every token response.'],
  'S-AUD-1': ['error', 'BCD', 'Accept tokens for this server from the issuer named by its metadata.'],
} as const;

/** ID in docs/requirements. */
export type RuleName = keyof typeof table;

export const ruleNames = Object.keys(table) as readonly RuleName[];

export function ruleOf(name: RuleName): Rule {
  const [severity, revisions, remedy] = table[name];
  return { severity, revisions, remedy, owner: name.startsWith('AS-') ? 'authorization server' : 'server' };
}
