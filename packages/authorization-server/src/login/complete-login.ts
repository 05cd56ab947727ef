/** The end of every sign-in: a session is opened, the browser is known from now on, and the errand goes on. */
import type { ConnectionInfo, HttpRequest, HttpResponse } from '@portcullis/http';
import type { Rooms } from '../authorize/rooms.ts';
import type { AccountRecord } from '../store/index.ts';
import { redirectByPage } from '../ui/message-page.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { LoginTarget } from './login-target.ts';

/** Lets somebody in who has proven to be the owner of an account. */
export type CompleteLogin = (
  request: HttpRequest,
  connection: ConnectionInfo,
  loginTarget: LoginTarget,
  account: AccountRecord,
  /** Whether it was proven by one factor or by both. */
  factors: 'one' | 'both',
) => Promise<HttpResponse>;

export function createCompleteLogin(
  { configuration, layout, sessions }: Rooms,
  deviceCookies: DeviceCookies,
): CompleteLogin {
  return async (request, connection, loginTarget, account) => {
    const about = {
      accountId: account.id,
      ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
    };
    configuration.events({ type: 'login.succeeded', ...about });
    const session = await sessions.start(request, connection, account.id);
    const response = await loginTarget.resumeAs(account.id, [session, deviceCookies.issue(request, account)]);
    const isAskedElsewhere =
      configuration.externalUi !== null && configuration.externalUi.consentUrl !== null;
    return isAskedElsewhere ? redirectByPage(layout, response) : response;
  };
}
