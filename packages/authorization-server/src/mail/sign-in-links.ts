/**
 * Sign-in by a link in a mail: works once, for minutes, and only in the browser that requested it, whose login target it continues.
 * A link that was forwarded or read by others therefore signs in no other browser.
 */
import { type HttpRequest, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { EncryptedJson } from '../encryption/encrypted-json.ts';
import type { Route } from '../http/router.ts';
import type { CompleteLogin } from '../login/complete-login.ts';
import { findLoginTarget, type LoginTarget } from '../login/login-target.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountRecord, AuditEventRecord } from '../store/index.ts';
import { respondPage } from '../ui/respond-page.ts';
import { signInLinkPage } from './link-request-view.ts';

/** What a link contains, encrypted. */
export interface SignInLink {
  /** Of the request: a link that is mailed again is the same. */
  readonly id: string;
  readonly accountId: string;
  /** The fields of its login target. */
  readonly loginTarget: Readonly<Record<string, string>>;
  /** The browser that requested it, and the password at that time, by `requesterHash`. */
  readonly browser: string;
  /** Epoch seconds. */
  readonly until: number;
}

/** Seconds. */
const LIFETIME = 600;
export const SIGN_IN_LINK_PATH = '/login/link/open';

/** Identifies a login target in the browser that began it, until the password changes; no secret. */
export function requesterHash(
  { binding }: Pick<LoginTarget, 'binding'>,
  { passwordHash }: Pick<AccountRecord, 'passwordHash'>,
): string {
  return hashSecret(JSON.stringify([...binding, passwordHash]));
}

/** @returns `null`: the event is no request for one */
export function signInLinkOf({ id, type, accountId, at, details }: AuditEventRecord): SignInLink | null {
  if (type !== 'account.sign_in_link_requested' || accountId === null) return null;
  const loginTarget = details['loginTarget'] as SignInLink['loginTarget'];
  const until = Math.floor(at / 1000) + LIFETIME;
  return { id, accountId, loginTarget, browser: String(details['browser']), until };
}

/** A link that this browser may use. */
interface UsableLink {
  readonly link: SignInLink;
  readonly loginTarget: LoginTarget;
  readonly account: AccountRecord;
}

export function createSignInLinkRoutes(
  pages: PageRouter,
  links: EncryptedJson<SignInLink>,
  completeLogin: CompleteLogin,
): readonly Route[] {
  const { store, clock, events } = pages;

  const find = async (
    context: PageContext,
    request: HttpRequest,
    token: string,
  ): Promise<UsableLink | null> => {
    const link = links.decrypt(token);
    if (link === null || link.until <= clock()) return null;
    const fields = readParameters(new URLSearchParams(link.loginTarget).toString());
    const loginTarget = await findLoginTarget(context, request, fields);
    if ('missing' in loginTarget) return null;
    const account = await store.findAccount(link.accountId);
    if (account === null || account.disabledAt !== null) return null;
    return requesterHash(loginTarget, account) === link.browser ? { link, loginTarget, account } : null;
  };

  return [
    pages.route('GET', SIGN_IN_LINK_PATH, async (context, request) => {
      const token = readParameters(queryOf(request)).one('token') ?? '';
      const found = await find(context, request, token);
      return found === null
        ? context.errors.show(SIGN_IN_LINK_PATH, 'used-sign-in-link')
        : respondPage(signInLinkPage(context.layout, token, found.loginTarget.purpose));
    }),

    pages.form(SIGN_IN_LINK_PATH, async (posted) => {
      const { context, request, form } = posted;
      const found = await find(context, request, form.one('token') ?? '');
      // Point of no return: the link is used.
      const isFirst =
        found !== null &&
        (await store.consumeClientAssertion(hashSecret(`sign-in link ${found.link.id}`), found.link.until));
      if (!isFirst) {
        events({ type: 'login.failed', ...(found !== null && { accountId: found.account.id }) });
        return context.errors.show(SIGN_IN_LINK_PATH, 'used-sign-in-link');
      }
      // RFC 8176 has no name for a link: a secret for one sign-in.
      return completeLogin({ ...posted, loginTarget: found.loginTarget }, found.account, ['otp']);
    }),
  ];
}
