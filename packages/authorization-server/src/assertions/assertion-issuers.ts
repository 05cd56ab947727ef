/** The option `assertionIssuers`: whose assertions are accepted as grants, for which clients, up to which scopes. */
import { issuerError, JWT_BEARER } from '@portcullis/protocol';
import * as z from 'zod';
import type { ConfiguredClient } from '../clients/client.ts';
import { checkedText, lazy, list, type OutputOf, optional, record, text } from '../option-schema/fields.ts';
import type { OptionReport } from '../option-schema/reader.ts';

/** Patterns of claims, all of which must match. `*` is any text without a colon; of a list, one entry must match. */
export type ClaimPatterns = Readonly<Record<string, string>>;

const patterns = () =>
  record(text(), 'an object, a pattern for each claim, such as { "sub": "repo:acme/app:*" }');

const url = (kind: string) => checkedText(kind, issuerError);

/** An issuer whose assertions are accepted. */
export const issuerSchema = lazy(() =>
  z.strictObject({
    issuer: url('an https URL').describe('issuer identifier, the claim `iss`'),
    use: z
      .enum(['id-jag', 'workload'])
      .describe(
        '`id-jag`: assertions of an identity provider about users; `workload`: of a platform about programs',
      ),
    clients: optional(list(text(), 1), 'confidential clients that may redeem an ID-JAG'),
    client: optional(text(), 'the client that the workload is'),
    match: optional(
      patterns(),
      'claims of the workload; for an ID-JAG its `tenant`, if the issuer has several. `*` is any text without a colon',
    ),
    scopes: optional(
      list(text()),
      'maximum scope',
      'for an ID-JAG the scopes that it names, for a workload none',
    ),
    scopesByClaim: optional(
      list(
        z.strictObject({
          match: patterns().describe('claims of the user, such as `{ "groups": "editors" }`'),
          scopes: list(text()).describe('scopes that such users may have besides `scopes`'),
        }),
      ),
      'further scopes by claims of the user',
    ),
    linkByEmail: optional(
      z.boolean(),
      'whether an unknown user with a verified email address means the local account with that address',
      '`false`',
    ),
    createAccounts: optional(z.boolean(), 'whether an unknown user gets an account', '`true`'),
    twoFactorValues: optional(
      list(text()),
      'values of `acr` and `amr` in an ID-JAG that mean two factors, such as `mfa`',
    ),
    jwksUri: optional(url('an https URL'), 'URL of the key set', 'by discovery'),
    singleUse: optional(
      z.boolean(),
      'whether each assertion is accepted once; `false` only for workloads that read a mounted token, as in Kubernetes',
      '`true`',
    ),
  }),
);

export type TrustedIssuer = OutputOf<typeof issuerSchema>;

/** What the rules compare the issuers with. */
interface KnownNames {
  readonly issuer: string;
  /** Scopes of all resources; `null`: not known. */
  readonly scopes: ReadonlySet<string> | null;
  readonly clients: ReadonlyMap<string, ConfiguredClient>;
}

export function validateAssertionIssuers(
  issuers: readonly TrustedIssuer[],
  known: KnownNames,
  report: OptionReport,
): readonly TrustedIssuer[] {
  for (const [index, entry] of issuers.entries()) {
    if (entry === undefined) continue;
    const path = ['assertionIssuers', String(index)];
    if (entry.issuer === known.issuer) {
      report.add([...path, 'issuer'], 'must not be this server: its own assertions are for other servers');
    }
    checkMembers(entry, path, report);
    checkClients(entry, known, path, report);
    checkTenant(entry, issuers, path, report);
    checkKeySet(entry, issuers, path, report);
    const byClaim = (entry.scopesByClaim ?? []).flatMap((one) => one?.scopes ?? []);
    const named = [...(entry.scopes ?? []), ...byClaim];
    for (const scope of named) {
      if (known.scopes?.has(scope) !== false) continue;
      report.add([...path, 'scopes'], `unknown scope ${JSON.stringify(scope)}; no resource defines it`);
    }
  }
  return issuers;
}

/** Members of each use; the first ones are required. */
const MEMBERS = {
  'id-jag': { required: ['clients'], others: ['client'] },
  workload: {
    required: ['client', 'match'],
    others: ['clients', 'scopesByClaim', 'linkByEmail', 'createAccounts', 'twoFactorValues'],
  },
} as const;

function checkMembers(entry: TrustedIssuer, path: readonly string[], report: OptionReport): void {
  const { required: needed, others } = MEMBERS[entry.use] ?? { required: [], others: [] };
  for (const member of needed) {
    if (entry[member] === undefined && !report.isUnread(...path, member)) {
      report.add([...path, member], `is required with "use": "${entry.use}"`);
    }
  }
  for (const member of others) {
    if (entry[member] !== undefined) {
      report.add([...path, member], `must not be combined with "use": "${entry.use}"`);
    }
  }
  if (entry.match !== undefined && Object.keys(entry.match).length === 0) {
    report.add([...path, 'match'], 'must name a claim, such as "sub"');
  }
  if (entry.use === 'id-jag' && entry.singleUse === false) {
    report.add([...path, 'singleUse'], 'must be true with "use": "id-jag"');
  }
}

/**
 * The subjects of an issuer with several tenants are unique within a tenant only, so its assertions are accepted for one.
 * @see draft-ietf-oauth-identity-assertion-authz-grant §6.3
 */
function checkTenant(
  { issuer, use, match }: TrustedIssuer,
  issuers: readonly TrustedIssuer[],
  path: readonly string[],
  report: OptionReport,
): void {
  if (use !== 'id-jag') return;
  const tenant = match?.['tenant'];
  const others = issuers.filter((one) => one?.issuer === issuer && one.use === 'id-jag');
  if (tenant?.includes('*') === true || others.some((one) => one.match?.['tenant'] !== tenant)) {
    report.add([...path, 'match'], 'must name one tenant, the same in every entry of an issuer');
  }
}

/** An issuer has one key set. With several, which of them verifies would depend on the order of the entries. */
function checkKeySet(
  { issuer, jwksUri }: TrustedIssuer,
  issuers: readonly TrustedIssuer[],
  path: readonly string[],
  report: OptionReport,
): void {
  if (issuers.every((one) => one?.issuer !== issuer || one.jwksUri === jwksUri)) return;
  report.add([...path, 'jwksUri'], 'must be the same in every entry of an issuer');
}

/** Clients in the database are not known here; those of the configuration are checked. */
function checkClients(
  { use, clients = [], client }: TrustedIssuer,
  known: KnownNames,
  path: readonly string[],
  report: OptionReport,
): void {
  const member = use === 'id-jag' ? 'clients' : 'client';
  for (const id of use === 'id-jag' ? clients : [client ?? '']) {
    const metadata = known.clients.get(id)?.metadata;
    if (metadata === undefined) continue;
    if (!metadata.grant_types.includes(JWT_BEARER)) {
      report.add([...path, member], `${JSON.stringify(id)} needs the grant type ${JWT_BEARER}`);
    }
    if (use === 'id-jag' && metadata.token_endpoint_auth_method === 'none') {
      report.add([...path, member], `${JSON.stringify(id)} must be a client with a secret or a key`);
    }
  }
}

/** Whether all patterns match the claims. */
export function matchesClaims(
  patternsOfClaims: ClaimPatterns,
  claims: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(patternsOfClaims).every(([name, pattern]) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.some((one) => matchesPattern(pattern, one));
  });
}

function matchesPattern(pattern: string, value: unknown): boolean {
  if (typeof value === 'boolean' || typeof value === 'number') return String(value) === pattern;
  if (typeof value !== 'string') return false;
  const parts = pattern.split('*');
  if (parts.length === 1) return value === pattern;
  // Only what is syntax: with `u`, an escape that is not needed is an error, such as that of a hyphen.
  const escaped = parts.map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return value.length <= 2000 && new RegExp(`^${escaped.join('[^:]*')}$`, 'u').test(value);
}
