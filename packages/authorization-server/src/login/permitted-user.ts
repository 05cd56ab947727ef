/** The user of a browser session, where the session gives more than the user's own account pages. */
import type { HttpRequest } from '@portcullis/http';
import type { PageServices } from '../authorization/page-context.ts';
import type { User } from '../users/sessions.ts';

/** The user who is signed in; `null` also for one who cannot sign in any more: the identity provider was removed from the configuration. */
export async function findPermittedUser(
  { sessions, federation }: Pick<PageServices, 'sessions' | 'federation'>,
  request: HttpRequest,
): Promise<User | null> {
  const user = await sessions.find(request);
  if (user === null) return null;
  return (await federation.resolveLoginMethod(null, user)).isSatisfied ? user : null;
}
