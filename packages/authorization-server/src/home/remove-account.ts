/** Deleting one's own account, by whoever has signed in a moment ago. */
import type { Rooms } from '../authorize/rooms.ts';
import { noticePage } from '../pages/notice.ts';
import { removalPage } from '../pages/remove-account.ts';
import { respondPage } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { listConnections } from './list-connections.ts';
import { createSignedIn } from './signed-in.ts';

export function createAccountRemoval(rooms: Rooms): readonly Route[] {
  const { configuration, frame, sessions } = rooms;
  const { store, clock, events } = configuration;
  const signedIn = createSignedIn(rooms, 'account', 'recent');
  return [
    signedIn.page('/account/remove', async ({ user }) => {
      const connections = await listConnections(rooms, user.account.id);
      const { email } = user.account;
      return respondPage(removalPage(frame, { email, connections, token: signedIn.token(user) }));
    }),

    signedIn.form('/account/remove', async ({ request, user }) => {
      const { id: accountId } = user.account;
      // Point of no return: what was kept for this person is gone, and what they allowed has ended.
      if (await store.removeAccount(accountId, clock())) events({ type: 'account.removed', accountId });
      const page = noticePage(frame, {
        heading: frame.text('removed.heading'),
        sentences: [frame.text('signed-out.close')],
      });
      return respondPage(page, { cookies: [await sessions.end(request)] });
    }),
  ];
}
