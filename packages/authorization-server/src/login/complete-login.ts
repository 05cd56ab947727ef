/** The last step of every login: starts a session, sets the device cookie and resumes the login target. */
import type { HttpResponse } from '@portcullis/http';
import type { AccountRecord } from '../store/index.ts';
import type { DeviceCookies } from '../users/device-cookie.ts';
import type { LoginVisit } from './login-routes.ts';

/** Logs in a user whose credentials have been verified. */
export type CompleteLogin = (
  visit: LoginVisit,
  account: AccountRecord,
  /** The methods of the sign-in, by their names in RFC 8176; with `mfa`, no other factor is needed. */
  methods: readonly string[],
) => Promise<HttpResponse>;

export function createCompleteLogin(deviceCookies: DeviceCookies): CompleteLogin {
  return async ({ context, request, connection, loginTarget }, account, methods) => {
    const { events, sessions, options } = context;
    const { cookie, hash } = await sessions.start(request, connection, account.id, { methods });
    const isNoticed = options.sendsMail && deviceCookies.findDevice(request, account) === null;
    events({
      type: 'login.succeeded',
      accountId: account.id,
      ...(loginTarget.transactionId !== null && { transactionId: loginTarget.transactionId }),
      ...(isNoticed && { sessionId: hash }),
    });
    return loginTarget.resumeAs(account.id, [cookie, deviceCookies.issue(request, account)]);
  };
}
