/** Signing out. */
import { readForm } from '@portcullis/http';
import { noticePage } from '../pages/notice.ts';
import { respondPage } from '../pages/respond.ts';
import type { Route } from '../routes.ts';
import { isForeignForm } from './form-tokens.ts';
import type { Rooms } from './rooms.ts';

export function createLogout({ configuration, edge, formTokens, frame, sessions }: Rooms): Route {
  return edge.route('POST', '/logout', async (request) => {
    const form = await readForm(request);
    const person = await sessions.find(request);
    const isOurs = person === null || formTokens.matches(form.one('token'), 'logout', person.sessionHash);
    if (!isOurs || isForeignForm(request, configuration.issuer)) return edge.refuse('/logout', 'stale-form');
    const cookie = await sessions.end(request);
    const page = noticePage(frame, {
      heading: frame.text('signed-out.heading'),
      sentences: [frame.text('signed-out.close')],
    });
    return respondPage(page, { headers: { 'set-cookie': cookie } });
  });
}
