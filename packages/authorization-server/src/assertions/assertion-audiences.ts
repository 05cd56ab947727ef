/** The option `assertionAudiences`: the other authorization servers for which this one issues identity assertions. */
import { issuerError } from '@portcullis/protocol';
import * as z from 'zod';
import { checkedText, lazy, list, type OutputOf, optional, record, text } from '../option-schema/fields.ts';

/** An authorization server that accepts ID-JAGs of this one. */
export const audienceSchema = lazy(() =>
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
