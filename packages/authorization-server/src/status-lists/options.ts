/** The option of token status lists. @see draft-ietf-oauth-status-list */
import * as z from 'zod';
import { option } from '../option-schema/fields.ts';

export const statusListOptions = {
  statusLists: option(() => z.boolean(), {
    default: false,
    section: 'Tokens',
    description: 'whether token statuses are published (IETF Token Status List) for guards that poll them',
    note: 'Anyone can then see how many tokens were revoked in the last hour or so, and roughly how many grants there are.',
  }),
};
