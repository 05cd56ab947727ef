/** Where people sign in at the operator's application, the pages that would let them in here lead there. */
import { queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import { findErrand, loginPath } from '../authorize/errands.ts';
import type { Rooms } from '../authorize/rooms.ts';
import { respondRedirect } from '../pages/respond.ts';
import type { Route } from '../routes.ts';

const PATHS = ['/setup', '/invitation', '/reset'];

export function createElsewhere(rooms: Rooms): readonly Route[] {
  const { edge, frame, handOver } = rooms;
  return [
    edge.route('GET', '/login', async (request) => {
      const errand = await findErrand(rooms, request, readParameters(queryOf(request)));
      if ('missing' in errand) return edge.refuse('/login', errand.missing);
      const leave = errand.isSignedIn ? null : handOver.toLogin(errand, frame.language);
      return leave ?? errand.proceed();
    }),
    ...PATHS.map((path) => edge.route('GET', path, async () => respondRedirect(loginPath('connections')))),
  ];
}
