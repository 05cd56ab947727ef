/** The option of personal access tokens. */
import * as z from 'zod';
import { option } from '../option-schema/fields.ts';

export const personalAccessTokenOptions = {
  personalAccessTokens: option(() => z.boolean(), {
    default: false,
    section: 'Tokens',
    description: 'whether users with a local account can create personal access tokens for scripts',
    note: 'Servers accept them in this process or by introspection, but not by verifying signatures: each needs a check against revocation. `lifetimes.personalAccessToken` limits their lifetime. Users of identity providers have none, and SCIM does not disable the local accounts that have.',
  }),
};
