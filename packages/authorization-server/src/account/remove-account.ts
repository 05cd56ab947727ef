/** Deleting one's own account, by whoever has signed in a moment ago. */
import type { Rooms } from '../authorize/rooms.ts';
import type { Route } from '../routes.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { createAccountRoutes } from './account-routes.ts';
import { listConnections } from './list-connections.ts';
import { removalPage } from './remove-account-view.ts';

export function createAccountRemovalRoutes(rooms: Rooms): readonly Route[] {
  const { configuration, layout, sessions } = rooms;
  const { store, clock, events } = configuration;
  const signedIn = createAccountRoutes(rooms, 'account', 'recent');
  return [
    signedIn.page('/account/remove', async ({ user }) => {
      const connections = await listConnections(rooms, user.account.id);
      const { email } = user.account;
      return respondPage(removalPage(layout, { email, connections, token: signedIn.csrfToken(user) }));
    }),

    signedIn.form('/account/remove', async ({ request, user }) => {
      const { id: accountId } = user.account;
      // Point of no return: what was kept for this person is gone, and what they allowed has ended.
      if (await store.removeAccount(accountId, clock())) events({ type: 'account.removed', accountId });
      const page = messagePage(layout, {
        heading: layout.text('removed.heading'),
        sentences: [layout.text('signed-out.close')],
      });
      return respondPage(page, { cookies: [await sessions.end(request)] });
    }),
  ];
}
