/** The option of refresh tokens. */
import * as z from 'zod';
import type { AssertionOptions } from '../assertions/options.ts';
import type { ClientPolicyOptions } from '../clients/options.ts';
import type { ServerContext } from '../context.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import { option, type ParsedOf } from '../option-schema/fields.ts';
import type { CheckedResourceOptions } from '../resources/options.ts';

export const tokenOptions = {
  acceptNewerRefreshTokens: option(() => z.boolean(), {
    default: true,
    section: 'Tokens',
    description:
      'whether a genuine refresh token that is newer than the store is accepted, as after restoring a backup',
    note: 'With `false`, restoring a backup or losing the last seconds in a failover ends every session that was refreshed since.',
  }),
};

/** The options that grants read. */
export interface TokenOptions
  extends ParsedOf<typeof tokenOptions>,
    AssertionOptions,
    ClientPolicyOptions,
    FederationOptions,
    CheckedResourceOptions {}

export type TokenContext = ServerContext<TokenOptions>;
