/** The rules that doctor checks: requirements of the specification, who is responsible, in which revisions, and how to fix a violation. */
import type { ResponsibleParty } from './report.ts';

export interface Rule {
  readonly severity: 'error' | 'warning';
  readonly owner: ResponsibleParty;
  /** Revisions by their letters in docs/requirements: A 2025-03-26, B 2025-06-18, C 2025-11-25, D 2026-07-28. */
  readonly revisions: string;
  readonly remedy: string;
}

const server = (severity: Rule['severity'], revisions: string, remedy: string): Rule => ({
  ...{ severity, owner: 'server', revisions, remedy },
});
const issuer = (severity: Rule['severity'], revisions: string, remedy: string): Rule => ({
  ...{ severity, owner: 'authorization server', revisions, remedy },
});

/** Requirements that can be checked from outside. */
export type RuleName =
  | 'S-401-2'
  | 'S-BEAR-66'
  | 'S-WA-60'
  | 'S-BEAR-63'
  | 'S-401-1'
  | 'S-SCOPE-20'
  | 'S-VAL-3'
  | 'S-BEAR-64'
  | 'S-PRM-20'
  | 'S-PRM-5'
  | 'S-PRM-62'
  | 'S-PRM-2'
  | 'S-PRM-60'
  | 'S-PRM-64'
  | 'S-PRM-65'
  | 'AS-META-20'
  | 'AS-META-2'
  | 'AS-META-3'
  | 'AS-META-60'
  | 'AS-META-61'
  | 'AS-META-62'
  | 'AS-META-63'
  | 'AS-META-64'
  | 'AS-META-71'
  | 'AS-HTTPS-1'
  | 'AS-ISS-31'
  | 'AS-DCR-60'
  | 'AS-DCR-61'
  | 'AS-AUTHZ-1'
  | 'AS-ISS-60'
  | 'AS-TOK-64'
  | 'AS-TOK-65'
  | 'S-AUD-1';

/** Requirement → rule. */
export const rules: Readonly<Record<RuleName, Rule>> = {
  'S-401-2': server('error', 'ABCD', 'Answer every request without a valid token with status 401.'),
  'S-BEAR-66': server('error', 'ABCD', 'Send a WWW-Authenticate header with every 401.'),
  'S-WA-60': server('error', 'ABCD', 'Put a Bearer challenge with at least one quoted parameter first.'),
  'S-BEAR-63': server('warning', 'ABCD', 'Omit the error from the challenge if the request had no token.'),
  'S-401-1': server(
    'error',
    'B',
    'Add the metadata URL to the challenge: resource_metadata="<absolute URL>".',
  ),
  'S-SCOPE-20': server('warning', 'CD', 'Add the required scopes to the challenge: scope="...".'),
  'S-VAL-3': server('error', 'ABCD', 'Answer a request with an unknown token with status 401.'),
  'S-BEAR-64': server('warning', 'ABCD', 'Add error="invalid_token" to the challenge for an invalid token.'),
  'S-PRM-20': server(
    'error',
    'CD',
    'Serve the metadata at the well-known location, or add its URL to the challenge.',
  ),
  'S-PRM-5': server('error', 'BCD', 'Serve the metadata without requiring a token.'),
  'S-PRM-62': server('error', 'BCD', 'Serve the metadata with status 200, as application/json.'),
  'S-PRM-2': server('error', 'BCD', 'List at least one issuer URL in authorization_servers.'),
  'S-PRM-60': server('error', 'BCD', 'Set resource to the https URL of the server, without a fragment.'),
  'S-PRM-64': server('error', 'BCD', 'Serve the document of this server, with its own URL as resource.'),
  'S-PRM-65': server('warning', 'BCD', 'List scopes_supported, so that clients know what to request.'),
  'AS-META-20': issuer('error', 'CD', 'Serve RFC 8414 or OpenID Connect metadata at a well-known location.'),
  'AS-META-2': issuer('error', 'B', 'Serve RFC 8414 metadata at its well-known location.'),
  'AS-META-3': issuer('error', 'ABCD', 'Serve a metadata document that conforms to RFC 8414.'),
  'AS-META-60': issuer('error', 'ABCD', 'Use the same issuer everywhere, byte for byte.'),
  'AS-META-61': issuer(
    'error',
    'ABCD',
    'Include authorization_endpoint, token_endpoint and response_types_supported.',
  ),
  'AS-META-62': issuer('error', 'ABCD', 'List S256 in code_challenge_methods_supported.'),
  'AS-META-63': issuer(
    'warning',
    'ABCD',
    'List grant_types_supported: its default includes the implicit grant.',
  ),
  'AS-META-64': issuer(
    'warning',
    'ABCD',
    'List token_endpoint_auth_methods_supported, with none for public clients.',
  ),
  'AS-META-71': issuer('error', 'ABCD', 'Omit members instead of setting them to null.'),
  'AS-HTTPS-1': issuer('error', 'ABCD', 'Serve every endpoint over https.'),
  'AS-ISS-31': issuer(
    'warning',
    'D',
    'Send iss with authorization responses, and advertise it in the metadata.',
  ),
  'AS-DCR-60': issuer(
    'error',
    'ABCD',
    'Answer a registration with status 201 and JSON, or with an RFC 7591 error.',
  ),
  'AS-DCR-61': issuer('error', 'ABCD', 'Return client_id, and client_secret_expires_at with a secret.'),
  'AS-AUTHZ-1': issuer(
    'error',
    'ABCD',
    'Answer an authorization request of a registered client with a page or a redirect.',
  ),
  'AS-ISS-60': issuer(
    'error',
    'D',
    'Send the issuer as iss with every authorization response, byte for byte.',
  ),
  'AS-TOK-64': issuer(
    'error',
    'ABCD',
    'Answer with status 200, application/json, access_token and token_type.',
  ),
  'AS-TOK-65': issuer('error', 'ABCD', 'Send Cache-Control: no-store with every token response.'),
  'S-AUD-1': server('error', 'BCD', 'Accept tokens for this server from the issuer named by its metadata.'),
};
