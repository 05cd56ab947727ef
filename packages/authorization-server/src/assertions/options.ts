/** The options of assertions: whose are accepted, and for which servers this one issues some. */

import { issuerError } from '@portcullis/protocol';
import * as z from 'zod';
import type { ClientPolicyOptions } from '../clients/options.ts';
import type { ServerContext } from '../context.ts';
import {
  checkedText,
  lazy,
  list,
  type OutputOf,
  option,
  optional,
  type ParsedOf,
  record,
  text,
} from '../option-schema/fields.ts';
import { issuerSchema, type TrustedIssuer } from './assertion-issuers.ts';

export const assertionOptions = {
  /** @see RFC 7523 §2.1 */
  assertionIssuers: option(() => list(issuerSchema()), {
    default: [],
    section: 'Sign-in',
    description:
      'issuers whose assertions are accepted instead of a sign-in (RFC 7523): identity providers of organizations, and platforms of workloads',
    note: 'The grant type is `urn:ietf:params:oauth:grant-type:jwt-bearer`. `portcullis clients add --workload` needs no entry here.',
  }),
  /** @see draft-ietf-oauth-identity-assertion-authz-grant */
  assertionAudiences: option(() => list(audienceSchema()), {
    default: [],
    section: 'Sign-in',
    description:
      'other authorization servers for which this one issues identity assertions about its users (ID-JAG)',
    note: 'A client exchanges a refresh token, an access token or the ID token of a federated login for the assertion (RFC 8693).',
  }),
};

/** The options that assertions read. */
export interface AssertionOptions
  extends Pick<ParsedOf<typeof assertionOptions>, 'assertionAudiences'>,
    Pick<ClientPolicyOptions, 'outbound' | 'registration'> {
  readonly assertionIssuers: readonly TrustedIssuer[];
}

export type AssertionContext = ServerContext<AssertionOptions>;

/** An authorization server that accepts ID-JAGs of this one. */
const audienceSchema = lazy(() =>
  z.strictObject({
    audience: checkedText('an https URL', issuerError).describe(
      'issuer identifier of the authorization server',
    ),
    clients: record(text(), 'an object, the identifier there for each client here').describe(
      'confidential clients that get assertions: `{ "agent": "agent-there" }`',
    ),
    scopes: optional(list(text()), 'maximum scope there', 'any'),
    resources: optional(list(text()), 'protected resources there', 'those at the origin of `audience`'),
  }),
);

export type AssertionAudience = OutputOf<typeof audienceSchema>;
