/** Client metadata: what a registration asks for, judged and completed; the same shape serves configured clients. */
import * as z from 'zod';
import { readDocument, secureUrl, strings, webPage } from './document.ts';
import { OAuthError } from './errors.ts';
import { judgeRedirectUri, type RedirectPolicy, strictRedirectPolicy } from './redirect-uri.ts';
import { formatScopes, readScopes } from './scopes.ts';

/** Client authentication methods by the names of the wire. */
export type ClientAuthenticationMethod =
  | 'none'
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'private_key_jwt';

export type ApplicationType = 'web' | 'native';

/** Complete metadata: defaults are filled in. Names are those of the wire. @see RFC 7591 §2 */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: ClientAuthenticationMethod;
  readonly application_type: ApplicationType;
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly scope?: string;
  readonly jwks?: { readonly keys: readonly Readonly<Record<string, unknown>>[] };
  readonly jwks_uri?: string;
  readonly software_id?: string;
  readonly software_version?: string;
}

/** What the server that reads the metadata supports and allows. */
export interface RegistrationPolicy {
  readonly grantTypes: readonly string[];
  readonly authenticationMethods: readonly string[];
  readonly redirects: RedirectPolicy;
}

/** What anybody may register: no client credentials. */
export const openRegistrationPolicy: RegistrationPolicy = {
  grantTypes: ['authorization_code', 'refresh_token'],
  authenticationMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  redirects: strictRedirectPolicy,
};

const short = z.string().max(500);
const jwk = z.record(z.string(), z.unknown());

const schema = z.object({
  redirect_uris: z.exactOptional(z.array(z.string()).max(50, 'holds more than 50 URIs')),
  grant_types: z.exactOptional(strings),
  response_types: z.exactOptional(strings),
  token_endpoint_auth_method: z.exactOptional(z.string()),
  application_type: z.exactOptional(z.enum(['web', 'native'])),
  client_name: z.exactOptional(short),
  client_uri: z.exactOptional(webPage),
  logo_uri: z.exactOptional(webPage),
  tos_uri: z.exactOptional(webPage),
  policy_uri: z.exactOptional(webPage),
  contacts: z.exactOptional(z.array(short).max(10)),
  scope: z.exactOptional(z.string().max(4000)),
  jwks: z.exactOptional(z.object({ keys: z.array(jwk).min(1).max(20) })),
  jwks_uri: z.exactOptional(secureUrl),
  software_id: z.exactOptional(short),
  software_version: z.exactOptional(short),
});

type Requested = z.infer<typeof schema>;

/**
 * Reads, judges and completes client metadata. Unknown members are dropped.
 * A redirect URI with a scheme that this server does not allow is left out when others remain; a dangerous or malformed
 * one condemns the whole.
 * @throws OAuthError `invalid_redirect_uri` or `invalid_client_metadata`, naming the member.
 * @see RFC 7591 §2 and §3.2.2
 */
export function readClientMetadata(json: unknown, policy: RegistrationPolicy): ClientMetadata {
  const requested = readRequested(json);
  const grantTypes = checkGrantTypes(requested, policy);
  const redirectUris = checkRedirectUris(requested, grantTypes, policy);
  checkKeys(requested);
  const {
    redirect_uris: _uris,
    grant_types: _grants,
    response_types: _responses,
    token_endpoint_auth_method: _method,
    application_type: asked,
    scope,
    ...described
  } = requested;
  return {
    ...described,
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: checkResponseTypes(requested, grantTypes),
    token_endpoint_auth_method: checkMethod(requested, policy),
    application_type: checkApplicationType(asked, redirectUris),
    ...(scope !== undefined && { scope: checkScope(scope) }),
  };
}

function readRequested(json: unknown): Requested {
  const reading = readDocument<Requested>(schema, json);
  if ('document' in reading) return reading.document;
  const aboutRedirects = reading.faults.every((fault) => fault.startsWith('redirect_uris'));
  throw new OAuthError(
    aboutRedirects ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    reading.faults.slice(0, 3).join('; '),
  );
}

/** Grant types that the server does not offer are left out, as RFC 7591 §3.2.1 lets it substitute. */
function checkGrantTypes(requested: Requested, policy: RegistrationPolicy): readonly string[] {
  const asked = requested.grant_types ?? ['authorization_code'];
  const granted = [...new Set(asked)].filter((type) => policy.grantTypes.includes(type));
  if (!granted.some((type) => type !== 'refresh_token')) {
    throw new OAuthError(
      'invalid_client_metadata',
      `grant_types: none of them can be registered here; use ${policy.grantTypes.join(', ')}`,
    );
  }
  return granted;
}

function checkRedirectUris(
  requested: Requested,
  grantTypes: readonly string[],
  policy: RegistrationPolicy,
): readonly string[] {
  const uris = [...new Set(requested.redirect_uris ?? [])];
  const judged = uris.map((uri) => ({ uri, judgement: judgeRedirectUri(uri, policy.redirects) }));
  const faults = judged.flatMap(({ judgement }, index) =>
    'reason' in judgement ? [`redirect_uris.${index}: ${judgement.reason}`] : [],
  );
  const kept = judged.filter(({ judgement }) => !('reason' in judgement)).map(({ uri }) => uri);
  const needed = grantTypes.includes('authorization_code');
  if (judged.some(({ judgement }) => judgement.kind === 'dangerous') || (needed && kept.length === 0)) {
    throw new OAuthError(
      'invalid_redirect_uri',
      faults.slice(0, 3).join('; ') || 'redirect_uris: name at least one',
    );
  }
  return kept;
}

function checkResponseTypes(requested: Requested, grantTypes: readonly string[]): readonly string[] {
  const expected = grantTypes.includes('authorization_code') ? ['code'] : [];
  const asked = requested.response_types;
  if (asked !== undefined && expected.length > 0 && !asked.includes('code')) {
    throw new OAuthError(
      'invalid_client_metadata',
      'response_types: the grant authorization_code goes with code',
    );
  }
  return expected;
}

function checkMethod(requested: Requested, policy: RegistrationPolicy): ClientAuthenticationMethod {
  const method = requested.token_endpoint_auth_method ?? 'client_secret_basic';
  if (!policy.authenticationMethods.includes(method)) {
    throw new OAuthError(
      'invalid_client_metadata',
      `token_endpoint_auth_method: must be one of ${policy.authenticationMethods.join(', ')}`,
    );
  }
  return method as ClientAuthenticationMethod;
}

/** Inferred as native when every URI stays on this computer; what the client says is believed. */
function checkApplicationType(asked: ApplicationType | undefined, uris: readonly string[]): ApplicationType {
  const local = uris.length > 0 && uris.every((uri) => !uri.startsWith('https:'));
  return asked ?? (local ? 'native' : 'web');
}

function checkScope(scope: string): string {
  try {
    return formatScopes(readScopes(scope));
  } catch {
    throw new OAuthError('invalid_client_metadata', 'scope: must be scopes separated by spaces');
  }
}

/** `jwks` and `jwks_uri` MUST NOT both be present; what is registered are public keys. @see RFC 7591 §2 */
function checkKeys(requested: Requested): void {
  const { jwks, jwks_uri: uri, token_endpoint_auth_method: method } = requested;
  if (jwks !== undefined && uri !== undefined) {
    throw new OAuthError('invalid_client_metadata', 'jwks: send either jwks or jwks_uri');
  }
  if (jwks?.keys.some((key) => 'd' in key || 'k' in key || key['kty'] === 'oct') === true) {
    throw new OAuthError('invalid_client_metadata', 'jwks: register public keys only');
  }
  if (method === 'private_key_jwt' && jwks === undefined && uri === undefined) {
    throw new OAuthError('invalid_client_metadata', 'jwks: private_key_jwt needs jwks or jwks_uri');
  }
}
