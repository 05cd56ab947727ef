/**
 * Client metadata (RFC 7591): validates and completes what a registration, a metadata document or a configured client
 * says.
 */

import * as z from 'zod';
import { invalidMetadata, OAuthError } from '../errors.ts';
import { DEVICE_CODE } from '../messages/device-authorization.ts';
import { TOKEN_EXCHANGE } from '../messages/token-exchange.ts';
import {
  readDocument,
  secureUrlSchema,
  singleLineTextSchema,
  stringArraySchema,
  webPageSchema,
} from '../parsing/json-document.ts';
import { type RedirectPolicy, strictRedirectPolicy, validateRedirectUri } from '../redirect-uri.ts';
import { formatScopes, readRequestedScopes } from '../scopes.ts';
import { type ClientKeySet, type ClientKeyUse, checkClientKeys, clientKeySetSchema } from './client-keys.ts';

/** Client authentication methods by their registered names. @see RFC 6749 §2.3, RFC 7523 §2.2 */
export type ClientAuthenticationMethod =
  | 'none'
  | 'client_secret_basic'
  | 'client_secret_post'
  | 'private_key_jwt';

/** Where a client runs: on a server, or on the user's device. @see OpenID Connect Dynamic Client Registration 1.0 §2 */
type ApplicationType = 'web' | 'native';

/** Complete metadata, defaults included, by the names in the RFC. @see RFC 7591 §2 */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly token_endpoint_auth_method: ClientAuthenticationMethod;
  /**
   * Methods that the client can use; the server picks one that it supports, for clients that never see the
   * registration response. @see OpenID RP Metadata Choices §2
   */
  readonly token_endpoint_auth_methods_supported?: readonly ClientAuthenticationMethod[];
  /** The only algorithm of the client's assertions. @see OpenID Connect Dynamic Client Registration 1.0 §2 */
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
  /** The JWT whose values take precedence, as the client sent it. @see RFC 7591 §2.3 */
  readonly software_statement?: string;
  /** Whether the client gets DPoP-bound tokens only. @see RFC 9449 §5.2 */
  readonly dpop_bound_access_tokens?: boolean;
  /** Not standardized: the workload whose assertions this client may redeem, set by an administrator. */
  readonly workload_identity?: WorkloadIdentity;
  /** Whether only its pushed authorization requests count. @see RFC 9126 §6 */
  readonly require_pushed_authorization_requests?: boolean;
  /** Whether only its signed authorization requests count. @see RFC 9101 §10.5 */
  readonly require_signed_request_object?: boolean;
  /** The only algorithm of its request objects. @see RFC 9101 §10.2 */
  readonly request_object_signing_alg?: string;
}

/** A workload elsewhere, by the claims of the tokens that its platform issues. */
export interface WorkloadIdentity {
  readonly issuer: string;
  /** Patterns of claims, all of which must match; `*` is any text without a colon. */
  readonly match: Readonly<Record<string, string>>;
  /** Whether each token is accepted once; `true` by default. */
  readonly single_use?: boolean;
}

/** What the server that registers the client supports and allows. */
export interface RegistrationPolicy {
  readonly grantTypes: readonly string[];
  readonly authenticationMethods: readonly string[];
  readonly redirects: RedirectPolicy;
  /** Whether a redirect URI whose scheme is not allowed rejects the client even if others remain. `false` by default. */
  readonly requireAllRedirectUris?: boolean;
  /** Algorithms for client assertions; any by default. */
  readonly signingAlgorithms?: readonly string[];
  /** Whether `jwks_uri` may be on a host of this machine or network. `false` by default. */
  readonly allowPrivateHosts?: boolean;
  /** Whether `workload_identity` may be set. `false` by default: then it is dropped. */
  readonly allowWorkloadIdentity?: boolean;
}

/** The policy of open registration: no client credentials grant. */
export const openRegistrationPolicy: RegistrationPolicy = {
  grantTypes: ['authorization_code', 'refresh_token'],
  authenticationMethods: ['none', 'client_secret_basic', 'client_secret_post'],
  redirects: strictRedirectPolicy,
};

const short = singleLineTextSchema.max(500);

/** URLs of pages for users; each may exist in several languages (`logo_uri#ja`). @see RFC 7591 §2.2 */
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
  software_statement: z.exactOptional(z.string()),
  dpop_bound_access_tokens: z.exactOptional(z.boolean()),
  tls_client_certificate_bound_access_tokens: z.exactOptional(z.boolean()),
  require_pushed_authorization_requests: z.exactOptional(z.boolean()),
  require_signed_request_object: z.exactOptional(z.boolean()),
  request_object_signing_alg: z.exactOptional(z.string().max(100)),
  workload_identity: z.exactOptional(z.unknown()),
});

const workloadSchema = z.object({
  issuer: secureUrlSchema,
  match: z
    .record(z.string(), z.string().min(1).max(1000))
    .refine((match) => Object.keys(match).length > 0, 'must name a claim'),
  single_use: z.exactOptional(z.boolean()),
});

type Document = z.infer<typeof schema>;

type Requested = Omit<Document, 'software_statement' | 'tls_client_certificate_bound_access_tokens'>;

/**
 * Validates and completes client metadata. Unknown members are dropped, empty ones count as absent. A redirect URI
 * whose scheme this server does not allow is dropped if others remain; a dangerous or malformed one rejects the whole
 * registration.
 * @throws OAuthError `invalid_redirect_uri`, `invalid_client_metadata`, `invalid_software_statement` or
 * `unapproved_software_statement`, naming the member
 * @see RFC 7591 §2 and §3.2.2
 */
export function readClientMetadata(json: unknown, policy: RegistrationPolicy): ClientMetadata {
  const {
    software_statement: statement,
    tls_client_certificate_bound_access_tokens: isCertificateBound,
    ...requested
  } = readRequested(json);
  if (statement !== undefined) throw softwareStatementError(statement);
  // To drop a demand for protection would be a silent downgrade. RFC 8705 §3.4
  if (isCertificateBound === true) {
    throw invalidMetadata(
      'tls_client_certificate_bound_access_tokens: this server issues no certificate-bound tokens; leave it out',
    );
  }
  const grantTypes = checkGrantTypes(requested, policy);
  const redirectUris = checkRedirectUris(requested, grantTypes, policy);
  const method = checkMethod(requested, grantTypes, policy);
  checkClientKeys(requested, {
    allowPrivateHosts: policy.allowPrivateHosts ?? false,
    uses: keyUses(requested, grantTypes, method),
  });
  const { application_type: declared, scope: wanted, workload_identity: workload, ...described } = requested;
  const scope = checkScope(wanted);
  return {
    ...described,
    redirect_uris: redirectUris,
    grant_types: grantTypes,
    response_types: checkResponseTypes(requested, grantTypes),
    token_endpoint_auth_method: method,
    application_type: declared ?? inferApplicationType(redirectUris),
    ...(scope !== null && { scope }),
    ...(policy.allowWorkloadIdentity === true &&
      workload !== undefined && { workload_identity: checkWorkload(workload) }),
  };
}

/** What the client signs, so that it needs keys. */
function keyUses(
  requested: Requested,
  grantTypes: readonly string[],
  method: ClientAuthenticationMethod,
): readonly ClientKeyUse[] {
  const isSigned =
    requested.require_signed_request_object === true && grantTypes.includes('authorization_code');
  return [
    ...(method === 'private_key_jwt'
      ? [{ name: method, algorithm: requested.token_endpoint_auth_signing_alg }]
      : []),
    ...(isSigned
      ? [{ name: 'require_signed_request_object', algorithm: requested.request_object_signing_alg }]
      : []),
  ];
}

function checkWorkload(workload: unknown): WorkloadIdentity {
  const reading = readDocument<WorkloadIdentity>(workloadSchema, workload);
  if ('document' in reading) return reading.document;
  throw invalidMetadata(reading.issues.map((issue) => `workload_identity.${issue}`).join('; '));
}

function readRequested(json: unknown): Document {
  const reading = readDocument<Document>(schema, withoutEmpty(json));
  const issues = 'issues' in reading ? reading.issues : translatedIssues(json);
  if (issues.length === 0 && 'document' in reading) return reading.document;
  const aboutRedirects = issues.every((issue) => issue.startsWith('redirect_uris'));
  throw new OAuthError(
    aboutRedirects ? 'invalid_redirect_uri' : 'invalid_client_metadata',
    issues.slice(0, 3).join('; '),
  );
}

/** No issuer of software statements is trusted, so even a well-formed one is refused. @see RFC 7591 §2.3 and §3.2.2 */
function softwareStatementError(statement: string): OAuthError {
  return /^(?:[\w-]+\.){2}[\w-]+$/.test(statement)
    ? new OAuthError(
        'unapproved_software_statement',
        'software_statement: this server trusts no issuer of software statements; register without one',
      )
    : new OAuthError('invalid_software_statement', 'software_statement: must be a signed JWT');
}

/** Official SDKs send `""` for URLs that they do not have. */
function withoutEmpty(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  if (!Object.values(json).includes('')) return json;
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== ''));
}

/** Translated members are dropped, but an invalid URL in one rejects the registration. */
function translatedIssues(json: unknown): readonly string[] {
  return Object.entries(json ?? {}).flatMap(([name, value]) => {
    if (!name.includes('#')) return [];
    const page = PAGES.find((known) => name.startsWith(`${known}#`));
    return page === undefined || webPageSchema.safeParse(value).success
      ? []
      : [`${page}: must be a web address`];
  });
}

/** Drops grant types that the server does not offer, which RFC 7591 §3.2.1 permits. An empty list is a client that only introspects. */
function checkGrantTypes(requested: Requested, policy: RegistrationPolicy): readonly string[] {
  const declared = requested.grant_types ?? ['authorization_code'];
  const granted = [...new Set(declared)].filter((type) => policy.grantTypes.includes(type));
  if (declared.length > 0 && !granted.some((type) => type !== 'refresh_token')) {
    throw invalidMetadata(
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
  const validated = uris.map((uri) => ({ uri, validation: validateRedirectUri(uri, policy.redirects) }));
  const issues = validated.flatMap(({ validation }, index) =>
    'reason' in validation ? [`redirect_uris.${index}: ${validation.reason}`] : [],
  );
  const accepted = validated.filter(({ validation }) => !('reason' in validation)).map(({ uri }) => uri);
  const needed = grantTypes.includes('authorization_code');
  const isDangerous = validated.some(({ validation }) => validation.kind === 'dangerous');
  if (isForDevicesOnly(grantTypes) && !isDangerous) return [];
  const isIncomplete = policy.requireAllRedirectUris === true && accepted.length < uris.length;
  if (isDangerous || isIncomplete || (needed && accepted.length === 0)) throw invalidRedirectUris(issues);
  return accepted;
}

function invalidRedirectUris(issues: readonly string[]): OAuthError {
  const description = issues.slice(0, 3).join('; ') || 'redirect_uris: name at least one';
  return new OAuthError('invalid_redirect_uri', description);
}

/** Whether redirect URIs and response types have no use: templates of SDKs send them nevertheless, and RFC 7591 §3.2.1 permits to drop them. */
function isForDevicesOnly(grantTypes: readonly string[]): boolean {
  return grantTypes.includes(DEVICE_CODE) && !grantTypes.includes('authorization_code');
}

/** Response types follow from the grant types; others contradict them. @see RFC 7591 §2.1 */
function checkResponseTypes(requested: Requested, grantTypes: readonly string[]): readonly string[] {
  if (isForDevicesOnly(grantTypes)) return [];
  const possible = grantTypes.includes('authorization_code') ? ['code'] : [];
  const declared = requested.response_types ?? possible;
  if (declared.length === 0 && possible.length === 0) return [];
  if (!declared.some((type) => possible.includes(type))) {
    throw invalidMetadata(
      'response_types: must be code with the grant authorization_code, and empty without it',
    );
  }
  return possible;
}

/**
 * Grant types for confidential clients only: without authentication a client may not act for itself or exchange
 * tokens.
 */
const CONFIDENTIAL_GRANTS: readonly string[] = ['client_credentials', TOKEN_EXCHANGE];

/** Checks the authentication method. @see RFC 6749 §4.4, RFC 8693 §5 */
function checkMethod(
  requested: Requested,
  grantTypes: readonly string[],
  policy: RegistrationPolicy,
): ClientAuthenticationMethod {
  const method = requested.token_endpoint_auth_method ?? 'client_secret_basic';
  if (!policy.authenticationMethods.includes(method)) {
    const offered = policy.authenticationMethods.join(', ');
    throw invalidMetadata(`token_endpoint_auth_method: must be one of ${offered}`);
  }
  checkSigningAlgorithm('token_endpoint_auth_signing_alg', requested, policy);
  checkSigningAlgorithm('request_object_signing_alg', requested, policy);
  const confidential = grantTypes.find((type) => CONFIDENTIAL_GRANTS.includes(type));
  if (method === 'none' && confidential !== undefined) {
    throw invalidMetadata(`token_endpoint_auth_method: ${confidential} needs a confidential client`);
  }
  if (method === 'none' && grantTypes.length === 0) {
    throw invalidMetadata('token_endpoint_auth_method: a client without grant types must authenticate');
  }
  return method as ClientAuthenticationMethod;
}

function checkSigningAlgorithm(
  member: 'token_endpoint_auth_signing_alg' | 'request_object_signing_alg',
  { [member]: algorithm }: Requested,
  { signingAlgorithms }: RegistrationPolicy,
): void {
  if (algorithm === undefined || signingAlgorithms?.includes(algorithm) !== false) return;
  throw invalidMetadata(`${member}: must be one of ${signingAlgorithms.join(', ')}`);
}

/** Native if all redirect URIs stay on the user's device. What the client declares itself takes precedence. */
function inferApplicationType(uris: readonly string[]): ApplicationType {
  return uris.length > 0 && uris.every((uri) => !/^https:/i.test(uri)) ? 'native' : 'web';
}

function checkScope(scope: string | undefined): string | null {
  try {
    const scopes = readRequestedScopes(scope);
    return scopes === null ? null : formatScopes(scopes);
  } catch {
    throw invalidMetadata('scope: must be at most 1000 scopes and 10000 characters, separated by spaces');
  }
}
