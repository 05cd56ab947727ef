/** The options of assertions: whose are accepted, and for which servers this one issues some. */
import type { ClientPolicyOptions } from '../clients/options.ts';
import type { ServerContext } from '../context.ts';
import { list, option, type ParsedOf } from '../option-schema/fields.ts';
import { audienceSchema } from './assertion-audiences.ts';
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
