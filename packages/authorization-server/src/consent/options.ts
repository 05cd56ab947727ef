/** The option of the consent page. */
import * as z from 'zod';
import type { PipelineOptions } from '../authorization/page-context.ts';
import type { ServerContext } from '../context.ts';
import { option, type ParsedOf } from '../option-schema/fields.ts';

export const consentOptions = {
  offerOtherScopes: option(() => z.boolean(), {
    default: false,
    section: 'Clients',
    description:
      'whether the consent page also offers the scopes of the resource that a client did not request, switched off',
    note: 'For hosts that cannot request more scopes later, such as those built on the official TypeScript SDK up to 1.32.',
  }),
};

/** The options that consent reads. */
export interface ConsentOptions extends ParsedOf<typeof consentOptions>, PipelineOptions {}

export type ConsentContext = ServerContext<ConsentOptions>;
