/** Whether somebody signs in with an account of this server, and not by a third party, which alone decides how then. */
import type { User } from '../accounts/sessions.ts';
import type { Rooms } from './rooms.ts';

export async function signsInHere({ upstream }: Pick<Rooms, 'upstream'>, user: User): Promise<boolean> {
  const { identityProvider, admits } = await upstream.wayOf(null, user);
  return identityProvider === null && admits;
}
