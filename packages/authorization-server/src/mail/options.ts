/** The option of mail: whether the program that runs this server sends mail for its audit events. */
import * as z from 'zod';
import { option } from '../option-schema/fields.ts';

export const mailOptions = {
  /** Whether mail is sent for audit events, with links of `mailedLinks`; without it, there are no pages for them. */
  sendsMail: option(() => z.boolean(), { default: false }),
  /** Whether users of local accounts can sign in by a link in a mail. */
  signInLinks: option(() => z.boolean(), { default: false }),
};
