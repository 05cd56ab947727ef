/** The option of the consent page. */
import * as z from 'zod';
import { option } from '../option-fields.ts';

export const consentOptions = {
  offerOtherScopes: option(() => z.boolean(), {
    default: false,
    section: 'Clients',
    description:
      'whether the consent page also offers the scopes of the resource that a client did not request, switched off',
    note: 'For hosts that cannot request more scopes later, such as those built on the official TypeScript SDK up to 1.32.',
  }),
};
