/** The option of a gateway: at which backends users connect accounts. */
import * as z from 'zod';
import { option, optionMeta } from '../option-fields.ts';
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
