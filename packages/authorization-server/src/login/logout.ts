/** Signing out: by a form of this session, never by an address, which any site could lead to. */
import { readFormBody } from '@portcullis/http';
import { isForeignForm } from '../authorize/form-tokens.ts';
import type { Rooms } from '../authorize/rooms.ts';
import type { Route } from '../routes.ts';
import { messagePage } from '../ui/message-page.ts';
import { type PageOptions, respondPage } from '../ui/respond-page.ts';
import { logoutPage } from './logout-view.ts';

const PATH = '/logout';

export function createLogoutRoutes(rooms: Rooms): readonly Route[] {
  const { configuration, edge, formTokens, layout, sessions } = rooms;
  const showSignedOut = (options: PageOptions) => {
    const heading = layout.text('signed-out.heading');
    return respondPage(
      messagePage(layout, { heading, sentences: [layout.text('signed-out.close')] }),
      options,
    );
  };
  return [
    edge.route('GET', PATH, async (request) => {
      const user = await sessions.find(request);
      if (user === null) return showSignedOut({});
      const token = formTokens.mint('logout', user.sessionHash);
      return respondPage(logoutPage(layout, { email: user.account.email, token }));
    }),

    edge.route('POST', PATH, async (request) => {
      const form = await readFormBody(request);
      const user = await sessions.find(request);
      const isOurs = user === null || formTokens.matches(form.one('token'), 'logout', user.sessionHash);
      if (!isOurs || isForeignForm(request, configuration.issuer)) {
        const action = { label: layout.text('home.look-again'), href: PATH };
        return edge.refuse(PATH, 'stale-form', { action });
      }
      return showSignedOut({ cookies: [await sessions.end(request)] });
    }),
  ];
}
