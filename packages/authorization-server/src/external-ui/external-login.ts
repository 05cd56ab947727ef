/** Where people sign in at the operator's application, the pages that would let them in here lead there. */
import { queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { Route } from '../http/router.ts';
import { findLoginTarget } from '../login/login-target.ts';
import type { PageContext } from '../page-context.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondRedirect } from '../ui/respond-page.ts';

const PATHS = ['/setup', '/invitation', '/reset'];

export function createExternalLogin(context: PageContext): readonly Route[] {
  const { errors, layout, externalUi: handOver } = context;
  return [
    errors.route('GET', '/login', async (request) => {
      const loginTarget = await findLoginTarget(context, request, readParameters(queryOf(request)));
      if ('missing' in loginTarget) return errors.refuse('/login', loginTarget.missing);
      const leave = loginTarget.isSignedIn ? null : handOver.redirectToLogin(loginTarget, layout.language);
      return leave ?? loginTarget.resume();
    }),
    ...PATHS.map((path) => errors.route('GET', path, async () => respondRedirect(loginPath('connections')))),
  ];
}
