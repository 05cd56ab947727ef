/** The option of local accounts. */
import * as z from 'zod';
import { option, type ParsedOf } from '../option-schema/fields.ts';

export const userOptions = {
  localAccounts: option(() => z.boolean(), {
    default: true,
    section: 'Sign-in',
    description:
      'whether users have accounts with passwords or passkeys here; `false` leaves only identity providers',
  }),
};

/** The option of local accounts, read. */
export interface UserOptions extends ParsedOf<typeof userOptions> {}
