/** The end of every sign-in: a session is opened, the browser is known from now on, and the errand goes on. */
import type { HttpRequest, HttpResponse } from '@portcullis/http';
import type { KnownBrowsers } from '../accounts/known-browsers.ts';
import { leadOnward } from '../pages/onward.ts';
import type { AccountRecord } from '../ports/index.ts';
import type { Peer } from '../routes.ts';
import type { Errand } from './errand.ts';
import type { Rooms } from './rooms.ts';

/** Lets somebody in who has proven to be the owner of an account. */
export type Welcome = (
  request: HttpRequest,
  peer: Peer,
  errand: Errand,
  account: AccountRecord,
  /** Whether it was proven by one factor or by both. */
  proof: 'one' | 'both',
) => Promise<HttpResponse>;

export function createWelcome(
  { configuration, frame, sessions }: Rooms,
  knownBrowsers: KnownBrowsers,
): Welcome {
  return async (request, peer, errand, account) => {
    const about = {
      accountId: account.id,
      ...(errand.transactionId !== null && { transactionId: errand.transactionId }),
    };
    configuration.events({ type: 'login.succeeded', ...about });
    const session = await sessions.open(request, peer, account.id);
    const response = await errand.proceedAs(account.id, [session, knownBrowsers.mark(request, account)]);
    const isAskedElsewhere =
      configuration.externalUi !== null && configuration.externalUi.consentUrl !== null;
    return isAskedElsewhere ? leadOnward(frame, response) : response;
  };
}
