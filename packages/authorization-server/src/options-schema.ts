/** The schema of every option of an authorization server: for validation, documentation, help texts and the JSON Schema. */
import {
  profiles as allProfiles,
  findProfile,
  issuerError,
  type Profile,
  validateRedirectUri,
} from '@portcullis/protocol';
import { findSimilarName, suggestName } from '@portcullis/protocol/option-names';
import * as z from 'zod';
import { type AssertionAudience, assertionAudiencesSchema } from './assertions/assertion-audiences.ts';
import { assertionIssuersSchema, type TrustedIssuer } from './assertions/assertion-issuers.ts';
import type { AuditLevel, EventSink } from './audit/events.ts';
import { type ClientDefinition, clientsSchema } from './clients/client-options.ts';
import { type DocumentOptions, documentsSchema } from './clients/metadata-document/document-options.ts';
import { type OutboundSettings, outboundSchema } from './clients/metadata-document/outbound-settings.ts';
import { type RegistrationOptions, registrationSchema } from './clients/registration-options.ts';
import type { UserBackends } from './connected-accounts/backend.ts';
import { type ExternalUiOptions, externalUiSchema } from './external-ui/external-ui-options.ts';
import { type IdentityProviderEntry, identityProvidersSchema } from './federation/provider/schema.ts';
import {
  defaultKeys,
  type KeyOptions,
  keysSchema,
  masterKeySchema,
  previousMasterKeysSchema,
} from './keys/key-options.ts';
import { defaultLifetimes, type Lifetimes, lifetimesSchema } from './lifetimes.ts';
import {
  boolean,
  checkedText,
  custom,
  duration,
  falseOr,
  lazy,
  list,
  type OptionReport,
  oneOf,
  readOption,
  seconds,
  text,
  union,
} from './option-schema.ts';
import type { FindWorkspaces } from './options.ts';
import { defaultRateLimits, type RateLimitPolicies } from './rate-limit/policies.ts';
import { rateLimitsSchema } from './rate-limit/rate-limit-schema.ts';
import type { ResourceDefinition } from './resource-options.ts';
import { resourcesSchema } from './resource-options.ts';
import type { AuthorizationStore } from './store/index.ts';
import { type BrandOptions, brandSchema } from './ui/brand.ts';

/** Options with their defaults, before the rules between them are checked. */
export interface ParsedOptions {
  readonly issuer: string;
  readonly name: string | undefined;
  readonly store: AuthorizationStore;
  readonly masterKey: Uint8Array;
  readonly previousMasterKeys: readonly Uint8Array[];
  readonly keys: Required<KeyOptions>;
  readonly statusLists: boolean;
  readonly resources: readonly ResourceDefinition[];
  readonly clients: readonly ClientDefinition[];
  readonly profiles: readonly Profile[];
  readonly metadata: boolean;
  readonly registration: boolean | RegistrationOptions;
  readonly metadataDocuments: boolean | DocumentOptions;
  readonly outbound: OutboundSettings;
  readonly brand: BrandOptions;
  readonly externalUi: ExternalUiOptions | undefined;
  readonly workspaces: FindWorkspaces | undefined;
  readonly offerOtherScopes: boolean;
  readonly personalAccessTokens: boolean;
  readonly deviceAuthorization: boolean;
  readonly requireDpopNonces: boolean;
  readonly identityProviders: readonly IdentityProviderEntry[];
  readonly assertionIssuers: readonly TrustedIssuer[];
  readonly assertionAudiences: readonly AssertionAudience[];
  readonly backends: UserBackends | undefined;
  readonly localAccounts: boolean;
  readonly lifetimes: Lifetimes;
  readonly acceptNewerRefreshTokens: boolean;
  readonly privateUseSchemes: readonly string[] | false;
  readonly rateLimits: RateLimitPolicies | false;
  readonly auditRetention: number | false;
  readonly auditLevel: AuditLevel;
  readonly events: EventSink | undefined;
  readonly clock: (() => number) | undefined;
}

export type OptionName = keyof ParsedOptions;

export interface OptionDefinition<T> {
  readonly schema: () => z.ZodType<T>;
  /** For documentation and help texts; without one, only code can set the option. */
  readonly description?: string;
  /** Names the default where the value alone would not explain itself. */
  readonly defaultText?: string;
  /** What else operators should know. */
  readonly note?: string;
  /** Taken when the option is left out. */
  readonly default?: T;
  readonly isRequired?: true;
}

const callback = <T>(): z.ZodType<T> => custom<T>('a function', (value) => typeof value === 'function');

/** Every option. Defaults are complete, so that the schema of an option that is left out is never built. */
export const optionDefinitions: { readonly [K in OptionName]: OptionDefinition<ParsedOptions[K]> } = {
  issuer: { schema: lazy(() => checkedText('an https URL', issuerError)), isRequired: true },
  name: {
    schema: lazy(() => text()),
    description: 'display name of this authorization server',
    defaultText: 'the host of the public URL',
  },
  store: {
    schema: lazy(() => custom('a store', (value) => typeof value === 'object' && value !== null)),
    isRequired: true,
  },
  masterKey: { schema: masterKeySchema, isRequired: true },
  previousMasterKeys: { schema: previousMasterKeysSchema, default: [] },
  keys: { schema: keysSchema, default: defaultKeys, description: 'signing keys', defaultText: 'as below' },
  statusLists: {
    schema: lazy(boolean),
    default: false,
    description: 'whether token statuses are published (IETF Token Status List) for guards that poll them',
    note: 'Anyone can then see how many tokens were revoked in the last hour or so, and roughly how many grants there are.',
  },
  resources: {
    schema: resourcesSchema,
    isRequired: true,
    description: 'protected servers elsewhere for which tokens are issued',
    defaultText: 'none',
    note: 'A request without `resource` means the application, or without one the first of these.',
  },
  clients: {
    schema: lazy(clientsSchema),
    default: [],
    description:
      'pre-registered clients: RFC 7591 metadata with client_id and, for confidential clients, client_secret',
    defaultText: 'none',
    note: '`portcullis clients add` stores clients in the database instead.',
  },
  profiles: {
    schema: lazy(profilesSchema),
    default: allProfiles,
    description: 'supported revisions of MCP authorization, by date',
    defaultText: 'all',
  },
  metadata: {
    schema: lazy(boolean),
    default: true,
    description:
      'whether metadata documents are published; `false` makes a Profile A server with default paths',
  },
  registration: {
    schema: registrationSchema,
    default: true,
    description: 'whether clients may register dynamically, and the rules (RFC 7591)',
    defaultText: 'anyone may register',
  },
  metadataDocuments: {
    schema: documentsSchema,
    default: true,
    description: 'whether client ID metadata documents are accepted, and from which hosts',
    defaultText: 'from any host',
  },
  outbound: {
    schema: outboundSchema,
    default: {},
    description: 'requests to hosts that clients name, for their documents and keys (SSRF protection)',
    defaultText: 'public hosts only, over https',
  },
  brand: {
    schema: brandSchema,
    default: {},
    description: 'branding and texts of the pages',
    defaultText: 'as below',
  },
  externalUi: {
    schema: externalUiSchema,
    description: 'your own application that replaces the sign-in or consent pages',
  },
  workspaces: {
    schema: lazy(callback<FindWorkspaces>),
    description:
      'module that lists the workspaces a user can pick on the consent page; exports findWorkspaces',
    defaultText: 'no workspaces',
  },
  offerOtherScopes: {
    schema: lazy(boolean),
    default: false,
    description:
      'whether the consent page also offers the scopes of the resource that a client did not request, switched off',
    note: 'For hosts that cannot request more scopes later, such as those built on the official TypeScript SDK up to 1.32.',
  },
  personalAccessTokens: {
    schema: lazy(boolean),
    default: false,
    description: 'whether users with a local account can create personal access tokens for scripts',
    note: 'Servers accept them in this process or by introspection, but not by verifying signatures: each needs a check against revocation. `lifetimes.personalAccessToken` limits their lifetime.',
  },
  deviceAuthorization: {
    schema: lazy(boolean),
    default: false,
    description:
      'whether programs without a browser can get tokens by a code that a user enters elsewhere (RFC 8628)',
    note: 'Users can be talked into entering the code of an attacker; the page says where the request comes from.',
  },
  requireDpopNonces: {
    schema: lazy(boolean),
    default: false,
    description: 'whether DPoP proofs must carry a nonce of this server, so that none can be made in advance',
    note: 'Nonces are issued in any case, and an outdated one is refused. Clients that do not know nonces cannot use DPoP then.',
  },
  identityProviders: {
    schema: identityProvidersSchema,
    default: [],
    description: 'identity providers that users sign in with, and whose tokens grants depend on',
    defaultText: 'none',
    note: 'Register `<origin of the public URL>/callback/<id>` as redirect URI at the provider; `portcullis up` prints it.',
  },
  assertionIssuers: {
    schema: assertionIssuersSchema,
    default: [],
    description:
      'issuers whose assertions are accepted instead of a sign-in (RFC 7523): identity providers of organizations, and platforms of workloads',
    defaultText: 'none',
    note: 'The grant type is `urn:ietf:params:oauth:grant-type:jwt-bearer`. `portcullis clients add --workload` needs no entry here.',
  },
  backends: {
    schema: lazy(() =>
      custom<UserBackends>('an object', (value) => typeof value === 'object' && value !== null),
    ),
  },
  assertionAudiences: {
    schema: assertionAudiencesSchema,
    default: [],
    description: 'other authorization servers at which this one vouches for its users (ID-JAG)',
    defaultText: 'none',
    note: 'A client exchanges a refresh token, an access token or the ID token of a federated login for the assertion (RFC 8693).',
  },
  localAccounts: {
    schema: lazy(boolean),
    default: true,
    description:
      'whether users have accounts with passwords or passkeys here; `false` leaves only identity providers',
  },
  lifetimes: {
    schema: lifetimesSchema,
    default: defaultLifetimes,
    description: 'lifetimes in seconds',
    defaultText: 'as below',
  },
  acceptNewerRefreshTokens: {
    schema: lazy(boolean),
    default: true,
    description:
      'whether a genuine refresh token that is newer than the store is accepted, as after restoring a backup',
    note: 'With `false`, restoring a backup or losing the last seconds in a failover ends every session that was refreshed since.',
  },
  privateUseSchemes: {
    schema: lazy(() => falseOr(list(schemeSchema()), 'an array of schemes, or false')),
    default: [],
    description:
      'private-use URI schemes that redirect URIs may have, such as `myapp`; `false` allows none at all',
    defaultText: 'only the redirect URIs of well-known hosts',
    note: 'The redirect URIs of Cursor, Warp, Cline and Raycast are allowed unless this is `false`; VS Code, Claude, ChatGPT, Windsurf and Zed use https or loopback. A redirect URI that is not allowed is dropped from a registration as long as another remains; the response lists it in `dropped_redirect_uris`, the event `client.registered` in `droppedRedirectUris`.',
  },
  rateLimits: {
    schema: rateLimitsSchema,
    default: defaultRateLimits,
    description: 'rate limits, each { burst, perMinute } and shared by all processes; `false` disables them',
    defaultText: 'as below',
  },
  auditRetention: {
    schema: lazy(() => falseOr(seconds(1, 100 * 365 * 86_400), 'a whole number of seconds, or false')),
    default: 90 * 86_400,
    description: 'seconds for which audit events are kept in the database; `false` keeps none',
    defaultText: duration(90 * 86_400),
  },
  auditLevel: {
    schema: lazy(() => oneOf('summary', 'full')),
    default: 'summary',
    description:
      'which audit events are kept: `summary` leaves out ordinary refreshes except the first of each authorization, and requests through the gateway that neither call anything nor are refused; `full` keeps all',
    note: 'Every refresh is logged and counted all the same, and `portcullis connections list` shows the last use of each connection. Refreshes that are retried or rejected are always kept.',
  },
  events: { schema: lazy(callback<EventSink>) },
  clock: { schema: lazy(callback<() => number>) },
};

function schemeSchema(): z.ZodType<string> {
  return checkedText('a private-use URI scheme such as `cursor`', (name) =>
    !/^[a-z][a-z0-9+.-]*$/.test(name)
      ? 'must be a URI scheme in lower case, without a colon (RFC 8252 §7.1)'
      : validateRedirectUri(`${name}://callback`, { privateUseSchemes: [name] }).kind === 'private-use'
        ? null
        : 'must be a private-use URI scheme: no setting allows this one',
  );
}

/** Revisions by date, or (in code) the profiles themselves. */
function profilesSchema(): z.ZodType<readonly Profile[]> {
  const revisions = allProfiles.map(({ revision }) => revision);
  const byDate = z.enum(revisions as [string]).transform((revision) => findProfile(revision) as Profile);
  const itself = custom<Profile>('a profile', (value) => allProfiles.some((known) => known === value));
  return list(union(`one of ${revisions.join(', ')}`, byDate, itself), 1);
}

/**
 * Reads each option by its schema and fills in the defaults.
 * @param names the options to read; all by default
 */
export function parseOptions(
  options: Readonly<Partial<Record<string, unknown>>>,
  report: OptionReport,
  names: readonly OptionName[] = Object.keys(optionDefinitions) as OptionName[],
): ParsedOptions {
  const parsed: Partial<Record<OptionName, unknown>> = {};
  for (const name of names) {
    const { schema, isRequired = false, default: value } = optionDefinitions[name];
    const given = options[name];
    if (given !== undefined) parsed[name] = readOption<unknown>(schema(), given, [name], report) ?? value;
    else if (!isRequired) parsed[name] = value;
    else if (!report.isUnread(name)) report.add([name], 'is required');
  }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(optionDefinitions, name)) continue;
    report.add([name], `unknown option; ${suggestName(name, Object.keys(optionDefinitions))}`);
    const meant = findSimilarName(name, Object.keys(optionDefinitions));
    if (meant !== null) report.markUnread([meant]);
  }
  return parsed as ParsedOptions;
}
