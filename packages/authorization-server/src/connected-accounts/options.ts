/** The option of a gateway: at which backends users connect accounts. */
import * as z from 'zod';
import type { ServerContext } from '../context.ts';
import type { FederationOptions } from '../federation/provider/identity-provider.ts';
import { option, optionMeta } from '../option-schema/fields.ts';
import type { UserBackends } from './backend.ts';

export const backendOptions = {
  /** Backends of a gateway at which users connect accounts; none by default. */
  backends: option(
    () =>
      z
        .custom<UserBackends>((value) => typeof value === 'object' && value !== null)
        .register(optionMeta, { kind: 'an object' }),
    {},
  ),
};

/** The options that connected accounts read. */
export interface BackendOptions extends FederationOptions {
  /** `null`: there is no gateway. */
  readonly backends: UserBackends | null;
}

export type BackendContext = ServerContext<BackendOptions>;
