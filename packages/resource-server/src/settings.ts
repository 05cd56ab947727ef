/** The settings of a guard: options validated once at startup, with all issues reported together, and frozen. */

import {
  type AuthenticationRequirement,
  profiles as allProfiles,
  ConfigurationError,
  canonicalResource,
  combineProfiles,
  isSecureUrl,
  type McpOperation,
  PROOF_ALGORITHMS,
  type ProtectedResourceMetadata,
  protectedResourceMetadata,
  type ScopeHierarchy,
  type Scopes,
  unionScopes,
} from '@portcullis/protocol';
import type { DpopOptions } from './dpop/dpop-options.ts';
import { type GuardEventSink, reportFailures } from './events.ts';
import { resourceMetadataUrl } from './metadata/metadata-handler.ts';
import { guardOptionNameIssues } from './option-names.ts';
import type {
  CertificateOptions,
  GuardOptions,
  ResourceOptions,
  SharedGuardOptions,
  StreamOptions,
} from './options.ts';
import { createOriginPolicy, type OriginPolicy } from './origin-policy.ts';
import { createAnonymousPrincipal, type Principal } from './principal.ts';
import { comparablePath } from './request-path.ts';
import {
  validateDpop,
  validateIssuers,
  validateOriginsAndHosts,
  validatePaths,
  validateScopes,
  validateStreams,
} from './validate-options.ts';
import type { TokenVerifier } from './verifiers/token-verifier.ts';

/** The constant part of a resource's challenges. */
export interface ChallengeSettings {
  /** URL of the protected resource metadata; `undefined` if none is published. */
  readonly metadataUrl: string | undefined;
  /** Used in the challenge if there is no metadata, since it needs at least one parameter. */
  readonly realm: string;
  /** Scopes to request first; if empty, the challenge names none. */
  readonly scopes: Scopes;
  /** Whether bearer tokens are accepted. */
  readonly bearer: boolean;
  /** Algorithms for DPoP proofs; `null` if DPoP is not enabled. */
  readonly proofAlgorithms: string | null;
}

/** A validated resource. */
export interface ProtectedResource {
  readonly resource: string;
  readonly origin: string;
  /** In comparable form, without a trailing slash. */
  readonly path: string;
  /** As written, without a trailing slash. */
  readonly exactPath: string;
  readonly scopes: Scopes;
  readonly hierarchy: ScopeHierarchy;
  readonly scopesFor: ((operation: McpOperation) => Scopes | 'public') | null;
  /** The principal of requests without a token; `null`: every request needs one. */
  readonly anonymous: Principal | null;
  readonly authenticationFor: ((operation: McpOperation) => AuthenticationRequirement | null) | null;
  readonly verifier: TokenVerifier;
  readonly challenge: ChallengeSettings;
  /** `null` if the served profiles do not use resource metadata. */
  readonly document: ProtectedResourceMetadata | null;
}

/** Validated options; nothing is optional. */
export interface GuardSettings {
  readonly resources: readonly [ProtectedResource, ...ProtectedResource[]];
  readonly origins: OriginPolicy;
  readonly clockTolerance: number;
  readonly tokenCacheSize: number;
  readonly bodyLimit: number;
  /** Bytes per second and user; `null` for no limit. */
  readonly bodyBudget: number | null;
  readonly dpop: DpopOptions | null;
  readonly certificates: CertificateOptions | null;
  /** `null` if streams may outlive their token. */
  readonly streams: Required<StreamOptions> | null;
  readonly events: GuardEventSink;
  readonly clock: () => number;
}

const MEBIBYTE = 1024 * 1024;

const defaultStreamOptions: Required<StreamOptions> = {
  grace: 300,
  every: 10,
  endedGrants: () => () => undefined,
};

/**
 * Validates options.
 * @throws ConfigurationError with every issue
 */
export function defineGuardSettings(options: GuardOptions): GuardSettings {
  const issues: string[] = [...guardOptionNameIssues(options)];
  const policy = combineProfiles(options.profiles ?? allProfiles);
  const resources = ('resources' in options ? options.resources : [options]).flatMap((definition, index) => {
    const at = 'resources' in options ? `resources.${index}.` : '';
    return validateResource(definition, options, policy, (issue) => issues.push(`${at}${issue}`));
  });
  validatePaths(resources, issues);
  validateOriginsAndHosts(options, issues);
  if (options.dpop !== undefined) validateDpop(options.dpop, issues);
  if (!['tls', 'field', undefined].includes(options.certificates?.from))
    issues.push('certificates.from must be tls or field');
  const clockTolerance = whole('clockTolerance', options.clockTolerance ?? 5);
  const tokenCacheSize = whole('tokenCacheSize', options.tokenCacheSize ?? 10_000);
  const bodyLimit = whole('bodyLimit', options.bodyLimit ?? MEBIBYTE);
  const bodyBudget =
    options.bodyBudget === false ? null : whole('bodyBudget', options.bodyBudget ?? MEBIBYTE);
  if (bodyBudget === 0) issues.push('bodyBudget must be bytes per second; false means no limit');
  const streams = options.streams === false ? null : { ...defaultStreamOptions, ...options.streams };
  if (streams !== null) validateStreams(streams, issues);
  const [first, ...rest] = resources;
  if ('resources' in options && options.resources.length === 0)
    issues.push('resources must name at least one protected resource');
  if (first === undefined || issues.length > 0) throw new ConfigurationError(issues);
  return Object.freeze<GuardSettings>({
    resources: [first, ...rest],
    origins: createOriginPolicy(
      resources.map(({ resource }) => resource),
      options.origins,
      options.hosts,
    ),
    clockTolerance,
    tokenCacheSize,
    bodyLimit,
    bodyBudget,
    dpop: options.dpop ?? null,
    certificates: options.certificates ?? null,
    streams,
    events: safeSink(options.events ?? reportFailures),
    clock: options.clock ?? (() => Math.floor(Date.now() / 1000)),
  });

  function whole(name: string, value: number): number {
    if (!Number.isSafeInteger(value) || value < 0) issues.push(`${name} must be a whole number, 0 or more`);
    return value;
  }
}

/** A failing event sink must not change a response or end the process. */
function safeSink(sink: GuardEventSink): GuardEventSink {
  return (event) => {
    try {
      sink(event);
    } catch (cause) {
      console.error('portcullis: the sink of events failed', cause);
    }
  };
}

/** Validates a resource; returns nothing if its identifier cannot be parsed. */
function validateResource(
  options: ResourceOptions,
  settings: SharedGuardOptions,
  policy: { readonly resourceMetadata: boolean; readonly challengeScopes: boolean },
  issue: (text: string) => void,
): readonly ProtectedResource[] {
  const resource = canonicalResource(options.resource);
  if (resource === null) {
    issue('resource must be an absolute https URI without a fragment');
    return [];
  }
  const url = new URL(resource);
  if (!isSecureUrl(url)) issue('resource must use https (http is for loopback hosts only)');
  const scopes = options.scopes ?? [];
  const { defaultScopes: firstScopes = [], hierarchy = {} } = options;
  validateScopes([scopes, firstScopes, Object.entries(hierarchy).flat(2)], issue);
  const defaultScopes = unionScopes(scopes, firstScopes);
  const verifier = options.verifier ?? settings.verifier;
  if (verifier === undefined) {
    issue('verifier is missing: it is needed to verify tokens');
    return [];
  }
  const issuers = options.authorizationServers ?? verifier.issuers;
  validateIssuers(issuers, issue);
  const proofAlgorithms = settings.dpop && (settings.dpop.algorithms ?? PROOF_ALGORITHMS);
  const document = protectedResourceMetadata({
    resource,
    authorizationServers: issuers,
    scopes: defaultScopes,
    name: options.name ?? url.host,
    documentation: options.documentation,
  });
  return [
    {
      resource,
      origin: url.origin,
      path: withoutSlash(comparablePath(url.pathname) ?? url.pathname.toLowerCase()),
      exactPath: withoutSlash(url.pathname),
      scopes,
      hierarchy,
      scopesFor: options.scopesFor ?? null,
      anonymous: options.publicOperations === true ? createAnonymousPrincipal(resource) : null,
      authenticationFor: options.authenticationFor ?? null,
      verifier,
      challenge: {
        metadataUrl: policy.resourceMetadata ? resourceMetadataUrl(resource) : undefined,
        realm: resource,
        scopes: policy.challengeScopes ? defaultScopes : [],
        bearer: settings.dpop?.required !== true,
        proofAlgorithms: proofAlgorithms?.join(' ') ?? null,
      },
      document: policy.resourceMetadata ? { ...document, ...boundTokenMembers(settings) } : null,
    },
  ];
}

/** Metadata about sender-constrained tokens. @see RFC 9728 §2 */
function boundTokenMembers({ dpop, certificates }: SharedGuardOptions): Readonly<Record<string, unknown>> {
  return {
    ...(dpop !== undefined && {
      dpop_signing_alg_values_supported: dpop.algorithms ?? PROOF_ALGORITHMS,
      dpop_bound_access_tokens_required: dpop.required === true,
    }),
    ...(certificates !== undefined && { tls_client_certificate_bound_access_tokens: true }),
  };
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
