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
      const person = await sessions.find(request);
      if (person === null) return showSignedOut({});
      const token = formTokens.mint('logout', person.sessionHash);
      return respondPage(signOutPage(frame, { email: person.account.email, token }));
    }),

    edge.route('POST', PATH, async (request) => {
      const form = await readForm(request);
      const person = await sessions.find(request);
      const isOurs = person === null || formTokens.matches(form.one('token'), 'logout', person.sessionHash);
      if (!isOurs || isForeignForm(request, configuration.issuer)) {
        const action = { label: frame.text('home.look-again'), href: PATH };
        return edge.refuse(PATH, 'stale-form', { action });
      }
      return showSignedOut({ cookies: [await sessions.end(request)] });
    }),
  ];
}
