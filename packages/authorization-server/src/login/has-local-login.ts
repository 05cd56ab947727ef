/** Whether a user logs in with a local account; otherwise only the identity provider decides how. */

import type { Rooms } from '../authorize/rooms.ts';
import type { User } from '../users/sessions.ts';

export async function hasLocalLogin({ upstream }: Pick<Rooms, 'upstream'>, user: User): Promise<boolean> {
  const { identityProvider, isSatisfied: admits } = await upstream.resolveLoginMethod(null, user);
  return identityProvider === null && admits;
}
