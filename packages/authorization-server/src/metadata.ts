/** Authorization server metadata, derived from the tables of what this server supports, so that it cannot be wrong. */
import { respondJson } from '@portcullis/http';
import {
  type AuthorizationServerMetadata,
  CODE_CHALLENGE_METHOD,
  combineProfiles,
  findProfile,
  ID_JAG_PROFILE,
  ONE_FACTOR,
  PROTOCOL_VERSION_HEADERS,
  RESPONSE_MODES,
  RESPONSE_TYPES,
  readProtocolVersion,
  type ServerMetadataKind,
  TOKEN_TYPES,
  TWO_FACTORS,
} from '@portcullis/protocol';
import type { ClientPolicyOptions } from './clients/options.ts';
import { clientAssertionAlgorithms, clientAuthenticationMethods } from './clients/read-client-credentials.ts';
import type { ServerContext } from './context.ts';
import { proofAlgorithms } from './dpop/proof-keys.ts';
import { servedGrantTypes } from './grant-types.ts';
import type { Route } from './http/router.ts';
import type { TokenOptions } from './token/options.ts';

type MetadataContext = ServerContext<ClientPolicyOptions & TokenOptions>;

/** Seconds for which a document may be cached. */
const MAX_AGE = 300;

/** The headers that the document depends on. @see RFC 9110 §12.5.5 */
const VERSION_HEADERS = PROTOCOL_VERSION_HEADERS.join(', ');

/** Names of the endpoints in the document, by their paths. */
const ENDPOINTS = {
  '/authorize': 'authorization_endpoint',
  '/par': 'pushed_authorization_request_endpoint',
  '/token': 'token_endpoint',
  '/register': 'registration_endpoint',
  '/device_authorization': 'device_authorization_endpoint',
  '/revoke': 'revocation_endpoint',
  '/introspect': 'introspection_endpoint',
  '/jwks': 'jwks_uri',
} as const;

const SUFFIXES: Readonly<Record<ServerMetadataKind, string>> = {
  oauth: '/.well-known/oauth-authorization-server',
  oidc: '/.well-known/openid-configuration',
};

/**
 * The routes of the documents, at every URL that clients try: at the root, and for an issuer with a path also with the path after
 * the suffix and before it. None when metadata is disabled.
 * @param routes all other routes of this server
 * @see RFC 8414 §3, OpenID Connect Discovery 1.0 §4
 */
export function createMetadata(context: MetadataContext, routes: readonly Route[]): readonly Route[] {
  if (!context.options.metadata) return [];
  const pathname = new URL(context.options.issuer).pathname.replace(/\/$/, '');
  return combineProfiles(context.options.profiles).serverMetadata.flatMap((kind) => {
    const document = describeServer(kind, context.options, routes);
    const { client_id_metadata_document_supported: _later, ...earlier } = document;
    const suffix = SUFFIXES[kind];
    return [...new Set([suffix, `${suffix}${pathname}`, `${pathname}${suffix}`])].map(
      (path): Route => ({
        method: 'GET',
        path,
        crossOrigin: true,
        async handle(request) {
          const version = readProtocolVersion(request.headers);
          context.events({ type: 'metadata.read', path, version });
          const served = knowsMetadataDocuments(version) ? document : earlier;
          return respondJson(served, { maxAge: MAX_AGE, headers: { vary: VERSION_HEADERS } });
        },
      }),
    );
  });
}

/** Clients of a revision without client ID metadata documents do not see `client_id_metadata_document_supported`. */
function knowsMetadataDocuments(version: string | null): boolean {
  const profile = version === null ? undefined : findProfile(version);
  return profile === undefined || profile.registration.includes('metadata-document');
}

function describeServer(
  kind: ServerMetadataKind,
  configuration: MetadataContext['options'],
  routes: readonly Route[],
): AuthorizationServerMetadata {
  const { issuer, resources, assertionAudiences, assertionIssuers } = configuration;
  const methods = Object.keys(clientAuthenticationMethods);
  const confidential = methods.filter((method) => method !== 'none');
  const scopes = [...new Set([...resources.values()].flatMap((resource) => Object.keys(resource.scopes)))];
  const document: AuthorizationServerMetadata = {
    issuer,
    ...endpointsOf(new URL(issuer).origin, routes),
    scopes_supported: scopes,
    response_types_supported: RESPONSE_TYPES,
    response_modes_supported: RESPONSE_MODES,
    grant_types_supported: servedGrantTypes(configuration),
    authorization_grant_profiles_supported: assertionIssuers.some(({ use }) => use === 'id-jag')
      ? [ID_JAG_PROFILE]
      : [],
    identity_chaining_requested_token_types_supported:
      assertionAudiences.length > 0 ? [TOKEN_TYPES.idJag] : [],
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    // RFC 7009 §2.1 leaves it open, and clients that replace a session have to know.
    revocation_leaves_other_grants: true,
    introspection_endpoint_auth_methods_supported: confidential,
    introspection_endpoint_auth_signing_alg_values_supported: clientAssertionAlgorithms,
    ...(configuration.servesUsers && {
      acr_values_supported: [ONE_FACTOR, TWO_FACTORS],
      request_parameter_supported: true,
      request_uri_parameter_supported: false,
      request_object_signing_alg_values_supported: clientAssertionAlgorithms,
    }),
    code_challenge_methods_supported: [CODE_CHALLENGE_METHOD],
    // Every authorization response carries `iss`, whichever revision the client speaks: those that do not know it ignore it.
    authorization_response_iss_parameter_supported: true,
    dpop_signing_alg_values_supported: proofAlgorithms,
    client_id_metadata_document_supported: configuration.metadataDocuments !== null,
    ...(kind === 'oidc' && OPENID_MEMBERS),
  };
  // Claims with zero elements MUST be omitted. RFC 8414 §3.2
  return Object.fromEntries(
    Object.entries(document).filter(([, value]) => !Array.isArray(value) || value.length > 0),
  ) as unknown as AuthorizationServerMetadata;
}

/** Required by OpenID Connect Discovery §3 and by SDKs; this server issues no ID tokens. */
const OPENID_MEMBERS = {
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
} as const;

function endpointsOf(origin: string, routes: readonly Route[]): Readonly<Record<string, string>> {
  const served = new Set(routes.map(({ path }) => path));
  return Object.fromEntries(
    Object.entries(ENDPOINTS)
      .filter(([path]) => served.has(path))
      .map(([path, name]) => [name, `${origin}${path}`]),
  );
}
