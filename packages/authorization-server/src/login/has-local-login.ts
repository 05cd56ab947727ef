/** Whether somebody signs in with an account of this server, and not by a third party, which alone decides how then. */

import type { Rooms } from '../authorize/rooms.ts';
import type { User } from '../users/sessions.ts';

export async function hasLocalLogin({ upstream }: Pick<Rooms, 'upstream'>, user: User): Promise<boolean> {
  const { identityProvider, isSatisfied: admits } = await upstream.resolveLoginMethod(null, user);
  return identityProvider === null && admits;
}
