/** The option of a gateway: whether calls need approvals. */
import * as z from 'zod';
import { option } from '../option-schema/fields.ts';

export const approvalOptions = {
  /** Whether a rule of a gateway needs approvals of calls; without it, there are no pages for them. */
  approvals: option(() => z.boolean(), { default: false }),
};
