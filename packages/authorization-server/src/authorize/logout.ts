/** Signing out: by a form of this session, never by an address, which any site could lead to. */
import { readForm } from '@portcullis/http';
import { noticePage } from '../pages/notice.ts';
import { type PageOptions, respondPage } from '../pages/respond.ts';
import { signOutPage } from '../pages/sign-out.ts';
import type { Route } from '../routes.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';

const PATH = '/logout';

export function createLogout(rooms: Rooms): readonly Route[] {
  const { configuration, edge, formTokens, frame, sessions } = rooms;
  const showSignedOut = (options: PageOptions) => {
    const heading = frame.text('signed-out.heading');
    return respondPage(noticePage(frame, { heading, sentences: [frame.text('signed-out.close')] }), options);
  };
  return [
    edge.route('GET', PATH, async (request) => {
      const user = await sessions.find(request);
      if (user === null) return showSignedOut({});
      const token = formTokens.mint('logout', user.sessionHash);
      return respondPage(signOutPage(frame, { email: user.account.email, token }));
    }),

    edge.route('POST', PATH, async (request) => {
      const form = await readForm(request);
      const user = await sessions.find(request);
      const isOurs = user === null || formTokens.matches(form.one('token'), 'logout', user.sessionHash);
      if (!isOurs || isForeignForm(request, configuration.issuer)) {
        const action = { label: frame.text('home.look-again'), href: PATH };
        return edge.refuse(PATH, 'stale-form', { action });
      }
      return showSignedOut({ cookies: [await sessions.end(request)] });
    }),
  ];
}
