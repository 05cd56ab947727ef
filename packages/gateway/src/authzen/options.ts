/** The schema of the setting `policy`: an external decision point, beside the rules of servers. */
import {
  checkedText,
  lazy,
  type OptionReport,
  type OutputOf,
  optional,
  record,
  seconds,
  secret,
  text,
} from '@portcullis/authorization-server/options';
import type { Scopes } from '@portcullis/protocol';
import * as z from 'zod';
import { checkMembers, endpointIssue, type MembersOf, scopeList } from '../servers/credential-options.ts';

/** How this server authenticates itself to the decision point. */
type PointCredentials =
  | { readonly as: 'none' }
  | { readonly as: 'header'; readonly name: string; readonly value: string }
  | ApplicationCredentials;

/** Client credentials at an authorization server that the decision point trusts. */
export interface ApplicationCredentials {
  readonly as: 'application';
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: Scopes;
}

const endpoint = lazy(() =>
  checkedText(
    'an https URL',
    (value) =>
      endpointIssue(value) ?? (/[?#]/.test(value) ? 'must have neither a query nor a fragment' : null),
  ),
);

const credentialsSchema = lazy(() =>
  z.strictObject({
    as: z
      .enum(['none', 'header', 'application'])
      .describe('none, a fixed `header`, or an access token of the `application` (client credentials)'),
    name: optional(text('a header name'), '`header`: its name', '`authorization`'),
    value: optional(secret(), '`header`: its value, such as `Bearer …` or `Basic …`'),
    tokenEndpoint: optional(endpoint(), '`application`: token endpoint'),
    clientId: optional(text(), '`application`: client identifier there'),
    clientSecret: optional(secret(), '`application`: client secret there'),
    scopes: optional(scopeList(), '`application`: scopes to request', 'none'),
  }),
);

const authzenSchema = lazy(() =>
  z.strictObject({
    url: endpoint().describe(
      'URL of the decision point; `/access/v1/evaluation` and `/access/v1/evaluations` are added to it',
    ),
    credentials: optional(credentialsSchema(), 'how this server authenticates itself there', 'none'),
    timeout: seconds(1, 30).default(2).describe('seconds to wait for a decision'),
    cache: seconds(0, 300)
      .default(5)
      .describe('seconds in which an equal request is not asked again; 0 to ask each time'),
    arguments: z
      .boolean()
      .default(false)
      .describe('whether it is sent the arguments of calls; their bodies are then not streamed'),
    subject: optional(
      record(z.unknown(), 'an object'),
      'further properties of each subject, such as `{ "cerbos.roles": ["user"] }`',
    ),
  }),
);

/** A decision point, validated. Its URL has no slash at its end. */
export interface DecisionPointDefinition
  extends Omit<OutputOf<typeof authzenSchema>, 'credentials' | 'subject'> {
  readonly credentials: PointCredentials;
  readonly subject: Readonly<Record<string, unknown>>;
}

/** The schema of the setting `policy`. */
export const policySchema = lazy(() =>
  z.strictObject({
    authzen: optional(authzenSchema(), 'external decision point (AuthZEN 1.0), asked after the rules'),
  }),
);

type PolicyOptions = OutputOf<typeof policySchema>;

/** @returns `null` without a decision point; issues go to the report, below `policy` */
export function defineDecisionPoint(
  options: PolicyOptions | null,
  report: OptionReport,
): DecisionPointDefinition | null {
  const { authzen } = options ?? {};
  if (authzen === undefined || report.isUnread('policy', 'authzen', 'url')) return null;
  const { url, credentials, subject = {}, ...others } = authzen;
  return Object.freeze<DecisionPointDefinition>({
    ...others,
    url: url.replace(/\/+$/, ''),
    credentials: defineCredentials(credentials ?? { as: 'none' }, report),
    subject,
  });
}

type CredentialOptions = OutputOf<typeof credentialsSchema>;

const MEMBERS: MembersOf<PointCredentials['as'], Exclude<keyof CredentialOptions, 'as'>> = {
  none: { needs: [], takes: [] },
  header: { needs: ['value'], takes: ['name'] },
  application: { needs: ['tokenEndpoint', 'clientId', 'clientSecret'], takes: ['scopes'] },
};

function defineCredentials(options: CredentialOptions, report: OptionReport): PointCredentials {
  const { as, ...given } = options;
  // An unknown kind is reported where it is read.
  if (MEMBERS[as] === undefined) return { as: 'none' };
  checkMembers(options, MEMBERS[as], ['policy', 'authzen', 'credentials'], report);
  const { name = 'authorization', value = '', scopes = [] } = given;
  const { tokenEndpoint = '', clientId = '', clientSecret = '' } = given;
  switch (as) {
    case 'none':
      return { as };
    case 'header':
      return { as, name, value };
    case 'application':
      return { as, tokenEndpoint, clientId, clientSecret, scopes };
  }
}
