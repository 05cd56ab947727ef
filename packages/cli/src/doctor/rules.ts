/** The rules that a doctor judges by: requirements of the specification, whom they bind, in which revisions, and what mends a breach. */
import type { Owner } from './report.ts';

export interface Rule {
  readonly gravity: 'fault' | 'advice';
  readonly owner: Owner;
  /** Revisions by their letters in docs/requirements: A 2025-03-26, B 2025-06-18, C 2025-11-25, D 2026-07-28. */
  readonly revisions: string;
  readonly remedy: string;
}

const server = (gravity: Rule['gravity'], revisions: string, remedy: string): Rule => ({
  ...{ gravity, owner: 'server', revisions, remedy },
});
const issuer = (gravity: Rule['gravity'], revisions: string, remedy: string): Rule => ({
  ...{ gravity, owner: 'authorization server', revisions, remedy },
});

/** Requirements that the doctor can tell from outside whether they are met. */
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
  'S-401-2': server('fault', 'ABCD', 'Answer every request without a good token with status 401.'),
  'S-BEAR-66': server('fault', 'ABCD', 'Send a WWW-Authenticate header with every 401.'),
  'S-WA-60': server('fault', 'ABCD', 'Put a Bearer challenge with at least one quoted parameter first.'),
  'S-BEAR-63': server('advice', 'ABCD', 'Leave the error out of the challenge when no token was sent.'),
  'S-401-1': server('fault', 'B', 'Name the metadata in the challenge: resource_metadata="<absolute URL>".'),
  'S-SCOPE-20': server('advice', 'CD', 'Name the scopes that a client needs in the challenge: scope="...".'),
  'S-VAL-3': server('fault', 'ABCD', 'Answer a token that is not known with status 401.'),
  'S-BEAR-64': server('advice', 'ABCD', 'Say error="invalid_token" in the challenge for a bad token.'),
  'S-PRM-20': server(
    'fault',
    'CD',
    'Serve the metadata at the well-known place, or name its place in the challenge.',
  ),
  'S-PRM-5': server('fault', 'BCD', 'Serve the metadata without asking for a token.'),
  'S-PRM-62': server('fault', 'BCD', 'Serve the metadata with status 200, as application/json.'),
  'S-PRM-2': server('fault', 'BCD', 'List at least one issuer URL in authorization_servers.'),
  'S-PRM-60': server('fault', 'BCD', 'Set resource to the https URL of the server, without a fragment.'),
  'S-PRM-64': server('fault', 'BCD', 'Serve the document of this server, with its own URL as resource.'),
  'S-PRM-65': server('advice', 'BCD', 'List scopes_supported, so that clients know what to ask for.'),
  'AS-META-20': issuer('fault', 'CD', 'Serve RFC 8414 or OpenID Connect metadata at a well-known place.'),
  'AS-META-2': issuer('fault', 'B', 'Serve RFC 8414 metadata at its well-known place.'),
  'AS-META-3': issuer('fault', 'ABCD', 'Serve a metadata document as RFC 8414 describes it.'),
  'AS-META-60': issuer('fault', 'ABCD', 'Use the same issuer everywhere, byte for byte.'),
  'AS-META-61': issuer(
    'fault',
    'ABCD',
    'Name authorization_endpoint, token_endpoint and response_types_supported.',
  ),
  'AS-META-62': issuer('fault', 'ABCD', 'List S256 in code_challenge_methods_supported.'),
  'AS-META-63': issuer(
    'advice',
    'ABCD',
    'List grant_types_supported: what it means when absent is not what is meant.',
  ),
  'AS-META-64': issuer(
    'advice',
    'ABCD',
    'List token_endpoint_auth_methods_supported, with none for public clients.',
  ),
  'AS-META-71': issuer('fault', 'ABCD', 'Leave members out instead of setting them to null.'),
  'AS-HTTPS-1': issuer('fault', 'ABCD', 'Serve every endpoint by https.'),
  'AS-ISS-31': issuer('advice', 'D', 'Send iss with authorization responses, and say so in the metadata.'),
  'AS-DCR-60': issuer(
    'fault',
    'ABCD',
    'Answer a registration with status 201 and JSON, or with an error of RFC 7591.',
  ),
  'AS-DCR-61': issuer(
    'fault',
    'ABCD',
    'Answer a registration with client_id, and with client_secret_expires_at beside a secret.',
  ),
  'AS-AUTHZ-1': issuer(
    'fault',
    'ABCD',
    'Answer an authorization request of a registered client with a page or a redirect.',
  ),
  'AS-ISS-60': issuer(
    'fault',
    'D',
    'Send the issuer as iss with every authorization response, byte for byte.',
  ),
  'AS-TOK-64': issuer(
    'fault',
    'ABCD',
    'Answer with status 200, application/json, access_token and token_type.',
  ),
  'AS-TOK-65': issuer(
    'fault',
    'ABCD',
    'Send Cache-Control: no-store with every answer of the token endpoint.',
  ),
  'S-AUD-1': server(
    'fault',
    'BCD',
    'Accept the tokens that name this server, of the issuer that the metadata names.',
  ),
};
