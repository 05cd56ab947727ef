/** Options of protected resources: schema, and rules about scopes and the clients that a resource names. */
import type { AccessSubject } from '@portcullis/policy';
import { canonicalResource, isScope, type Scopes, TOKEN_EXCHANGE, USER_CLAIMS } from '@portcullis/protocol';
import * as z from 'zod';
import type { ConfiguredClient } from '../clients/client.ts';
import type { ServerContext } from '../context.ts';
import { accessConditionMembers, reportUnknownClaims } from '../option-schema/access-condition.ts';
import {
  callback,
  type InputOf,
  lazy,
  list,
  option,
  optional,
  type ParsedOf,
  record,
  seconds,
  text,
} from '../option-schema/fields.ts';
import type { OptionReport } from '../option-schema/reader.ts';
import { SCOPE_ACCESS } from '../ui/marks.ts';
import { checkTranslations, translationsSchema } from '../ui/translations.ts';

const scopes = () => list(text('a scope'));
const clientIds = () => list(text('a `client_id`'));
const userClaims = () => list(z.enum(USER_CLAIMS));

const accessConditionSchema = lazy(() => z.strictObject(accessConditionMembers(0)));

/** A protected resource that tokens are issued for. */
const resourceSchema = lazy(() =>
  z.strictObject({
    /** Its canonical URI: the audience of its tokens. @see RFC 8707 §2 */
    resource: text('a canonical URI such as `https://mcp.example.com/mcp`').describe(
      'resource identifier and audience of its tokens (RFC 8707)',
    ),
    name: text().describe('display name'),
    scopes: record(text(), 'an object, a sentence for each scope').describe(
      'scopes, each with a description for the consent page',
    ),
    defaultScopes: optional(scopes(), 'scopes granted to a request that names none', 'all'),
    requiredScopes: optional(
      scopes(),
      'scopes that users cannot deselect on the consent page',
      'none, but one scope has to remain',
    ),
    /** Scopes marked here with `delete` or `administer` are switched off until the user switches them on. */
    access: optional(
      record(z.enum(SCOPE_ACCESS), 'an object, a kind of access for each scope'),
      'what scopes allow: `read`, `write`, `delete` or `administer`; the consent page sets the last two apart, switched off',
      'as their names suggest, switched on',
    ),
    hierarchy: optional(
      record(scopes(), 'an object, a list of scopes for each broad one'),
      'narrower scopes that a broad scope includes',
    ),
    /** Consent, tokens and refreshed tokens contain no other scope. A scope without an entry may be granted to all. */
    grantableTo: optional(
      record(accessConditionSchema(), 'an object, a condition for each scope'),
      'who may be granted a scope: `{ "files:write": { "clients": […], "groups": […], "claims": { "email": […] } } }`',
      'all clients and users',
    ),
    translations: optional(
      translationsSchema(),
      'name and descriptions in other languages: `{ "de": { "name": …, "scopes": { … } } }`',
    ),
    claims: optional(
      userClaims(),
      'claims about the user in its access tokens: `email`, `name`, `groups`; the consent page shows it',
    ),
    scopeClaims: optional(
      record(userClaims(), 'an object, a list of claims for each scope'),
      'further claims in access tokens with a scope: `{ "profile": ["name"] }`',
    ),
    accessTokens: z
      .enum(['jwt', 'opaque'])
      .default('jwt')
      .describe(
        'format of access tokens: JWTs that the guard verifies, or `opaque` tokens that `introspectionClients` introspect',
      ),
    /** @see RFC 7662 §2.1 */
    introspectionClients: optional(
      clientIds(),
      'confidential clients that may introspect its tokens (RFC 7662)',
    ),
    /** @see RFC 8693 */
    tokenExchangeClients: optional(
      clientIds(),
      "confidential clients that may exchange its tokens for an identity provider's (RFC 8693)",
    ),
    /** @see RFC 8693 */
    exchangeTargets: optional(
      list(text('the URI of a resource')),
      'other resources here for which its `tokenExchangeClients` may exchange its tokens, to call them for the user',
    ),
    revocationDelay: optional(
      seconds(0),
      'seconds until its guard notices a revocation, as shown to users: 0 in the process of this server, 10 if it introspects with its usual cache',
      'the lifetime of an access token',
    ),
  }),
);

/** A protected resource that tokens are issued for. */
export type ResourceDefinition = InputOf<typeof resourceSchema>;

/** Decides about scopes elsewhere: which of them may be granted. @throws OAuthError `temporarily_unavailable` */
export type DecideScopes = (request: ScopeDecisionRequest) => Promise<Scopes>;

/** What is asked about scopes. */
interface ScopeDecisionRequest {
  /** The URI of the protected resource. */
  readonly resource: string;
  readonly scopes: Scopes;
  readonly subject: AccessSubject;
  /** `null`: the client acts for itself. */
  readonly accountId: string | null;
}

export const resourceOptions = {
  /** At least one; a request without `resource` means the first. @see RFC 8707 */
  resources: option(() => list(resourceSchema()), {
    isRequired: true,
    section: 'Protected servers',
    description: 'protected servers elsewhere for which tokens are issued',
    note: 'A request without `resource` means the application, or without one the first of these.',
  }),
  /** Asked at consent and when tokens are issued, besides `grantableTo`. */
  decideScopes: option(() => callback<DecideScopes>(), {}),
  /** Asked about the scopes of one resource, by its URI, instead of `decideScopes`. */
  decideScopesOf: option(() => record(callback<DecideScopes>(), 'an object, a function for each resource'), {
    default: {},
  }),
};

/** Marks resources that are not in the options, because a module could not be loaded: `['resources', MORE_RESOURCES]`. */
export const MORE_RESOURCES = '*';

/** Whether the scopes of all resources could be read. */
export function areScopesRead(resources: readonly unknown[], report: OptionReport): boolean {
  if (report.isUnread('resources', MORE_RESOURCES)) return false;
  return resources.every((_, index) => !report.isUnread('resources', index, 'scopes'));
}

export function validateResources(
  definitions: readonly ResourceDefinition[],
  report: OptionReport,
): ReadonlyMap<string, ResourceDefinition> {
  if (definitions.length === 0 && !report.isUnread('resources')) {
    report.add(['resources'], 'must have at least one protected resource');
  }
  const resources = new Map<string, ResourceDefinition>();
  for (const [index, definition] of definitions.entries()) {
    const path = ['resources', String(index)];
    const isRead = (...members: readonly string[]) =>
      members.every((member) => !report.isUnread(...path, member));
    if (isRead('resource')) checkIdentifier(definition.resource, resources, [...path, 'resource'], report);
    if (!isRead('scopes')) continue;
    checkScopes(definition, path, report);
    checkTranslations(definition, path, report);
    const { accessTokens, introspectionClients = [] } = definition;
    if (accessTokens === 'opaque' && introspectionClients.length === 0 && isRead('introspectionClients')) {
      report.add(
        [...path, 'accessTokens'],
        'must be jwt without introspectionClients: nothing could read opaque tokens',
      );
    }
    resources.set(definition.resource, definition);
  }
  return resources;
}

function checkIdentifier(
  uri: string,
  known: ReadonlyMap<string, unknown>,
  path: readonly string[],
  report: OptionReport,
): void {
  const canonical = canonicalResource(uri);
  if (canonical === null) {
    report.add(
      path,
      `must be a canonical URI such as "https://mcp.example.com/mcp", not ${JSON.stringify(uri)}`,
    );
  } else if (canonical !== uri) {
    report.add(path, `must be a canonical URI, written as ${JSON.stringify(canonical)}`);
  }
  if (known.has(uri)) report.add(path, `duplicate resource ${JSON.stringify(uri)}`);
}

function checkScopes(
  {
    scopes,
    defaultScopes = [],
    requiredScopes = [],
    access = {},
    hierarchy = {},
    scopeClaims = {},
    grantableTo = {},
  }: ResourceDefinition,
  path: readonly string[],
  report: OptionReport,
): void {
  const known = Object.keys(scopes);
  for (const scope of known.filter((name) => !isScope(name))) {
    report.add([...path, 'scopes'], `invalid scope ${JSON.stringify(scope)}`);
  }
  const hierarchyScopes = Object.entries(hierarchy).flat(2);
  const named = {
    ...{ defaultScopes, requiredScopes, access: Object.keys(access), hierarchy: hierarchyScopes },
    ...{ scopeClaims: Object.keys(scopeClaims), grantableTo: Object.keys(grantableTo) },
  };
  for (const [member, names] of Object.entries(named)) {
    for (const scope of names.filter((name) => !known.includes(name))) {
      report.add(
        [...path, member],
        `unknown scope ${JSON.stringify(scope)}; expected one of ${known.join(', ')}`,
      );
    }
  }
  for (const [scope, condition] of Object.entries(grantableTo))
    reportUnknownClaims(condition, [...path, 'grantableTo', scope], report);
}

/** A client that introspects or exchanges tokens MUST be authenticated. @see RFC 7662 §2.1, RFC 8693 §5 */
export function checkNamedClients(
  definitions: readonly ResourceDefinition[],
  clients: ReadonlyMap<string, ConfiguredClient>,
  report: OptionReport,
): void {
  const known = definitions.map((definition) => definition?.resource);
  for (const [index, definition] of definitions.entries()) {
    const { exchangeTargets = [] } = definition ?? {};
    for (const target of exchangeTargets.filter((one) => !known.includes(one))) {
      report.add(['resources', index, 'exchangeTargets'], `unknown resource ${JSON.stringify(target)}`);
    }
  }
  if (report.isUnread('clients')) return;
  for (const [index, definition] of definitions.entries()) {
    const { introspectionClients = [], tokenExchangeClients = [] } = definition ?? {};
    for (const [member, ids] of Object.entries({ introspectionClients, tokenExchangeClients })) {
      for (const id of ids) {
        const metadata = clients.get(id)?.metadata;
        const path = ['resources', index, member];
        if ((metadata?.token_endpoint_auth_method ?? 'none') === 'none') {
          report.add(path, `${JSON.stringify(id)} is not a configured client with a secret or a key`);
        }
        if (member === 'tokenExchangeClients' && metadata?.grant_types.includes(TOKEN_EXCHANGE) === false) {
          report.add(path, `${JSON.stringify(id)} needs the grant type ${TOKEN_EXCHANGE}`);
        }
      }
    }
  }
}

/** The resources, checked, and who else decides about their scopes. */
export interface CheckedResourceOptions
  extends Pick<ParsedOf<typeof resourceOptions>, 'decideScopes' | 'decideScopesOf'> {
  readonly resources: ReadonlyMap<string, ResourceDefinition>;
}

/** The resources that pages show to every visitor: those whose scopes are not decided about by a function of their own. */
export function listedResources({
  resources,
  decideScopesOf,
}: CheckedResourceOptions): readonly ResourceDefinition[] {
  return [...resources.values()].filter(({ resource }) => !Object.hasOwn(decideScopesOf, resource));
}

export type ResourceContext = ServerContext<CheckedResourceOptions>;
