/** Where people sign in at the operator's application, the pages that would let them in here lead there. */
import { queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { Rooms } from '../authorize/rooms.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { Route } from '../routes.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';

const PATHS = ['/setup', '/invitation', '/reset'];

export function createElsewhere(rooms: Rooms): readonly Route[] {
  const { edge, layout, handOver } = rooms;
  return [
    edge.route('GET', '/login', async (request) => {
      const loginTarget = await findLoginTarget(rooms, request, readParameters(queryOf(request)));
      if ('missing' in loginTarget) return edge.refuse('/login', loginTarget.missing);
      const leave = loginTarget.isSignedIn ? null : handOver.toLogin(loginTarget, layout.language);
      return leave ?? loginTarget.resume();
    }),
    ...PATHS.map((path) => edge.route('GET', path, async () => respondRedirect(loginPath('connections')))),
  ];
}
