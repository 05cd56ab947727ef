/** The option of device authorization. @see RFC 8628 */
import * as z from 'zod';
import { option } from '../option-schema/fields.ts';

export const deviceOptions = {
  deviceAuthorization: option(() => z.boolean(), {
    default: false,
    section: 'Tokens',
    description:
      'whether programs without a browser can get tokens by a code that a user enters elsewhere (RFC 8628)',
    note: 'Users can be talked into entering the code of an attacker; the page says where the request comes from.',
  }),
};
