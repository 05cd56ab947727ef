/** The option of DPoP. @see RFC 9449 §8 */
import * as z from 'zod';
import type { ServerContext } from '../context.ts';
import { option, type ParsedOf } from '../option-schema/fields.ts';

export const dpopOptions = {
  requireDpopNonces: option(() => z.boolean(), {
    default: false,
    section: 'Tokens',
    description: 'whether DPoP proofs must carry a nonce of this server, so that none can be made in advance',
    note: 'Nonces are issued in any case, and an outdated one is refused. Clients that do not know nonces cannot use DPoP then.',
  }),
};

/** The option of DPoP, read. */
interface DpopOptions extends ParsedOf<typeof dpopOptions> {}

export type DpopContext = ServerContext<DpopOptions>;
