/** Whether a user logs in with a local account; otherwise only the identity provider decides how. */
import type { PageContext } from '../authorization/page-context.ts';
import type { User } from '../users/sessions.ts';

export async function hasLocalLogin(
  { federation }: Pick<PageContext, 'federation'>,
  user: User,
): Promise<boolean> {
  const { identityProvider, isSatisfied } = await federation.resolveLoginMethod(null, user);
  return identityProvider === null && isSatisfied;
}
