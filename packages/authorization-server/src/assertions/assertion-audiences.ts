/** The option `assertionAudiences`: for which other authorization servers this one vouches for its users. */
import { issuerError, type Scopes } from '@portcullis/protocol';
import type * as z from 'zod';
import { checkedText, lazy, list, object, optional, record, required, text } from '../option-schema.ts';

/** An authorization server that accepts ID-JAGs of this one. */
export interface AssertionAudience {
  /** Its issuer identifier. */
  readonly audience: string;
  /** Clients that get assertions: their identifiers here, and there. */
  readonly clients: Readonly<Record<string, string>>;
  /** Maximum scope there; any by default. */
  readonly scopes?: Scopes;
  /** Protected resources there; by default those at the origin of the audience. */
  readonly resources?: readonly string[];
}

export const assertionAudiencesSchema: () => z.ZodType<readonly AssertionAudience[]> = lazy(() =>
  list(
    object<AssertionAudience>({
      audience: required(
        checkedText('an https URL', issuerError),
        'issuer identifier of the authorization server',
      ),
      clients: required(
        record(text(), 'an object, the identifier there for each client here'),
        'confidential clients that get assertions: `{ "agent": "agent-there" }`',
      ),
      scopes: optional(list(text()), 'maximum scope there', { defaultText: 'any' }),
      resources: optional(list(text()), 'protected resources there', {
        defaultText: 'those at the origin of `audience`',
      }),
    }),
  ),
);
