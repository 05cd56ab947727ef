/** The option of refresh tokens. */
import * as z from 'zod';
import { option } from '../option-fields.ts';

export const tokenOptions = {
  acceptNewerRefreshTokens: option(() => z.boolean(), {
    default: true,
    section: 'Tokens',
    description:
      'whether a genuine refresh token that is newer than the store is accepted, as after restoring a backup',
    note: 'With `false`, restoring a backup or losing the last seconds in a failover ends every session that was refreshed since.',
  }),
};
