/** Whether somebody signs in with an account of this server, and not by a third party, which alone decides how then. */
import type { Person } from '../accounts/sessions.ts';
import type { Rooms } from './rooms.ts';

export async function signsInHere({ upstream }: Pick<Rooms, 'upstream'>, person: Person): Promise<boolean> {
  const { thirdParty, admits } = await upstream.wayOf(null, person);
  return thirdParty === null && admits;
}
