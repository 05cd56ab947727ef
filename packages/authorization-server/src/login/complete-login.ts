/** The last step of every login: starts a session, sets the device cookie and resumes the login target. */
import type { HttpResponse } from '@portcullis/http';
import type { AccountRecord } from '../store/index.ts';
import { parseBrowserName } from '../users/browser-name.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import { type LoginVisit, rejectStaleForm } from './login-routes.ts';

/** Logs in a user whose credentials have been verified, unless they were changed since. */
export type CompleteLogin = (
  visit: LoginVisit,
  /** As it was when its credential was verified. */
  account: AccountRecord,
  /** The methods of the sign-in, by their names in RFC 8176; with `mfa`, no other factor is needed. */
  methods: readonly string[],
) => Promise<HttpResponse>;

export function createCompleteLogin(deviceCookies: DeviceCookies): CompleteLogin {
  return async (visit, account, methods) => {
    const { context, request, connection, loginTarget } = visit;
    const { events, sessions, options } = context;
    const started = await sessions.start(request, connection, account, { methods });
    if (started === null) {
      events({ type: 'login.failed', accountId: account.id });
      return rejectStaleForm('/login', visit);
    }
    const { cookie, hash } = started;
    const isNoticed = options.sendsMail && deviceCookies.findDevice(request, account) === null;
    const browser = parseBrowserName(request.headers.get('user-agent'));
    events({
      type: 'login.succeeded',
      accountId: account.id,
      ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
      ...(isNoticed && { sessionId: hash, ...(browser !== null && { browser }) }),
    });
    return loginTarget.resumeAs(account.id, [cookie, deviceCookies.issue(request, account)]);
  };
}
