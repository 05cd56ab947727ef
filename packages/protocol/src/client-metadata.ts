/** Client metadata: what a registration asks for, judged and completed; the same shape serves configured clients. */
import * as z from 'zod';
import { type ClientKeySet, checkClientKeys, clientKeySetSchema } from './client-keys.ts';
import { OAuthError } from './errors.ts';
import {
  readDocument,
  secureUrlSchema,
  singleLineTextSchema,
  stringArraySchema,
  webPageSchema,
} from './json-document.ts';
import { type RedirectPolicy, strictRedirectPolicy, validateRedirectUri } from './redirect-uri.ts';
import { formatScopes, readRequestedScopes } from './scopes.ts';
import { TOKEN_EXCHANGE } from './token-exchange.ts';

/** Client authentication methods by the names of the wire. */
export type ClientAuthenticationMethod =
  | 'none'
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'private_key_jwt';

/** Where a client runs: on a server, or on the computer of a person. @see OpenID Connect Dynamic Client Registration 1.0 §2 */
export type ApplicationType = 'web' | 'native';

/** Complete metadata: defaults are filled in. Names are those of the wire. @see RFC 7591 §2 */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: ClientAuthenticationMethod;
  /** Whichever of these the server knows may be used: for clients that never see what a server chose. @see OpenID RP Metadata Choices §2 */
  readonly token_endpoint_auth_methods_supported?: readonly ClientAuthenticationMethod[];
  /** The only algorithm of its assertions. @see OpenID Connect Registration §2 */
  readonly token_endpoint_auth_signing_alg?: string;
  readonly application_type: ApplicationType;
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly scope?: string;
  readonly jwks?: ClientKeySet;
  readonly jwks_uri?: string;
  readonly software_id?: string;
  readonly software_version?: string;
}

/** What the server that reads the metadata supports and allows. */
export interface RegistrationPolicy {
  readonly grantTypes: readonly string[];
  readonly authenticationMethods: readonly string[];
  readonly redirects: RedirectPolicy;
  /** Algorithms that an assertion may be signed with; any when left out. */
  readonly signingAlgorithms?: readonly string[];
  /** Whether `jwks_uri` may lead to a host of this machine or network. `false` when left out. */
  readonly allowPrivateHosts?: boolean;
}

/** What anybody may register: no client credentials. */
export const openRegistrationPolicy: RegistrationPolicy = {
  grantTypes: ['authorization_code', 'refresh_token'],
  authenticationMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  redirects: strictRedirectPolicy,
};

const short = singleLineTextSchema.max(500);

/** Members that a person follows; each may come in several languages (`logo_uri#ja`). @see RFC 7591 §2.2 */
const PAGES = ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri'] as const;

const schema = z.object({
  redirect_uris: z.exactOptional(z.array(z.string()).max(50, 'holds more than 50 URIs')),
  grant_types: z.exactOptional(stringArraySchema),
  response_types: z.exactOptional(stringArraySchema),
  token_endpoint_auth_method: z.exactOptional(z.string()),
  token_endpoint_auth_signing_alg: z.exactOptional(z.string().max(100)),
  application_type: z.exactOptional(z.enum(['web', 'native'])),
  client_name: z.exactOptional(short),
  client_uri: z.exactOptional(webPageSchema),
  logo_uri: z.exactOptional(webPageSchema),
  tos_uri: z.exactOptional(webPageSchema),
  policy_uri: z.exactOptional(webPageSchema),
  contacts: z.exactOptional(z.array(short).max(10)),
  scope: z.exactOptional(z.string().max(4000)),
  jwks: z.exactOptional(clientKeySetSchema),
  jwks_uri: z.exactOptional(secureUrlSchema),
  software_id: z.exactOptional(short),
  software_version: z.exactOptional(short),
});

type Requested = z.infer<typeof schema>;

/**
 * Reads, judges and completes client metadata. Unknown members are dropped, empty ones count as absent.
 * A redirect URI with a scheme that this server does not allow is left out when others remain; a dangerous or malformed
 * one condemns the whole.
 * @throws OAuthError `invalid_redirect_uri` or `invalid_client_metadata`, naming the member.
 * @see RFC 7591 §2 and §3.2.2
 */
export function readClientMetadata(json: unknown, policy: RegistrationPolicy): ClientMetadata {
  const requested = readRequested(json);
  const grantTypes = checkGrantTypes(requested, policy);
  const redirectUris = checkRedirectUris(requested, grantTypes, policy);
  const method = checkMethod(requested, grantTypes, policy);
  checkClientKeys(requested, {
    allowPrivateHosts: policy.allowPrivateHosts ?? false,
    required: method === 'private_key_jwt',
  });
  const { application_type: asked, scope: wanted, ...described } = requested;
  const scope = checkScope(wanted);
  return {
    ...described,
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: checkResponseTypes(requested, grantTypes),
    token_endpoint_auth_method: method,
    application_type: asked ?? inferApplicationType(redirectUris),
    ...(scope !== null && { scope }),
  };
}

function readRequested(json: unknown): Requested {
  const reading = readDocument<Requested>(schema, withoutEmpty(json));
  const issues = 'issues' in reading ? reading.issues : translatedIssues(json);
  if (issues.length === 0 && 'document' in reading) return reading.document;
  const aboutRedirects = issues.every((issue) => issue.startsWith('redirect_uris'));
  throw new OAuthError(
    aboutRedirects ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    issues.slice(0, 3).join('; '),
  );
}

/** Official SDKs send `""` for addresses that they do not have. */
function withoutEmpty(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  if (!Object.values(json).includes('')) return json;
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== ''));
}

/** Members in other languages are not kept, but a dangerous address in one gives the registration away. */
function translatedIssues(json: unknown): readonly string[] {
  return Object.entries(json ?? {}).flatMap(([name, value]) => {
    if (!name.includes('#')) return [];
    const page = PAGES.find((known) => name.startsWith(`${known}#`));
    return page === undefined || webPageSchema.safeParse(value).success
      ? []
      : [`${page}: must be a web address`];
  });
}

/** Grant types that the server does not offer are left out, as RFC 7591 §3.2.1 lets it substitute. */
function checkGrantTypes(requested: Requested, policy: RegistrationPolicy): readonly string[] {
  const asked = requested.grant_types ?? ['authorization_code'];
  const granted = [...new Set(asked)].filter((type) => policy.grantTypes.includes(type));
  if (!granted.some((type) => type !== 'refresh_token')) {
    throw invalid(`grant_types: none of them can be registered here; use ${policy.grantTypes.join(', ')}`);
  }
  return granted;
}

function checkRedirectUris(
  requested: Requested,
  grantTypes: readonly string[],
  policy: RegistrationPolicy,
): readonly string[] {
  const uris = [...new Set(requested.redirect_uris ?? [])];
  const judged = uris.map((uri) => ({ uri, judgement: validateRedirectUri(uri, policy.redirects) }));
  const issues = judged.flatMap(({ judgement }, index) =>
    'reason' in judgement ? [`redirect_uris.${index}: ${judgement.reason}`] : [],
  );
  const kept = judged.filter(({ judgement }) => !('reason' in judgement)).map(({ uri }) => uri);
  const needed = grantTypes.includes('authorization_code');
  if (judged.some(({ judgement }) => judgement.kind === 'dangerous') || (needed && kept.length === 0)) {
    throw new OAuthError(
      'invalid_redirect_uri',
      issues.slice(0, 3).join('; ') || 'redirect_uris: name at least one',
    );
  }
  return kept;
}

/** Response types follow from grant types; asking for one that no grant goes with is a contradiction. @see RFC 7591 §2.1 */
function checkResponseTypes(requested: Requested, grantTypes: readonly string[]): readonly string[] {
  const possible = grantTypes.includes('authorization_code') ? ['code'] : [];
  const asked = requested.response_types ?? possible;
  if (asked.length === 0 && possible.length === 0) return [];
  if (!asked.some((type) => possible.includes(type))) {
    throw invalid('response_types: must be code with the grant authorization_code, and empty without it');
  }
  return possible;
}

/** Grants whose clients MUST be confidential: who only says who it is may not act for itself, nor ask for tokens of others. */
const CONFIDENTIAL_GRANTS: readonly string[] = ['client_credentials', TOKEN_EXCHANGE];

/** @see OAuth 2.1 draft 13 §4.2, RFC 8693 §5 */
function checkMethod(
  requested: Requested,
  grantTypes: readonly string[],
  policy: RegistrationPolicy,
): ClientAuthenticationMethod {
  const method = requested.token_endpoint_auth_method ?? 'client_secret_basic';
  if (!policy.authenticationMethods.includes(method)) {
    const offered = policy.authenticationMethods.join(', ');
    throw invalid(`token_endpoint_auth_method: must be one of ${offered}`);
  }
  const algorithm = requested.token_endpoint_auth_signing_alg;
  if (algorithm !== undefined && policy.signingAlgorithms?.includes(algorithm) === false) {
    throw invalid(`token_endpoint_auth_signing_alg: must be one of ${policy.signingAlgorithms.join(', ')}`);
  }
  const confidential = grantTypes.find((type) => CONFIDENTIAL_GRANTS.includes(type));
  if (method === 'none' && confidential !== undefined) {
    throw invalid(`token_endpoint_auth_method: ${confidential} needs a confidential client`);
  }
  return method as ClientAuthenticationMethod;
}

/** Native when no URI leaves this computer; what the client says itself is believed. */
function inferApplicationType(uris: readonly string[]): ApplicationType {
  return uris.length > 0 && uris.every((uri) => !/^https:/i.test(uri)) ? 'native' : 'web';
}

function checkScope(scope: string | undefined): string | null {
  try {
    const scopes = readRequestedScopes(scope);
    return scopes === null ? null : formatScopes(scopes);
  } catch {
    throw invalid('scope: must be scopes separated by spaces');
  }
}

function invalid(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description);
}
