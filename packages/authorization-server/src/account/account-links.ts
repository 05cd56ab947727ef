/** One-time account links (`/invitation`, `/reset`): the holder chooses a password or a passkey and is logged in. */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import type { PageContext, PageRouter, PageServices } from '../authorization/page-context.ts';
import type { PostedForm } from '../http/page-route.ts';
import type { Route } from '../http/router.ts';
import type { LocalLogin } from '../login/local-login.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountLinkRecord, AccountRecord, PasskeyRecord } from '../store/index.ts';
import { loginPath } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { isMailedLink } from '../users/administer-accounts.ts';
import { type PasswordErrors, validateNewPassword } from '../users/new-password.ts';
import { unusableHash } from '../users/passwords.ts';
import { PASSWORD_ALONE } from '../users/sessions.ts';
import { accountLinkPage } from './account-links-view.ts';
import { accountNoticePath } from './overview-view.ts';
import { suggestedName } from './passkeys.ts';

/** A valid link and its account. */
interface ValidLink {
  readonly token: string;
  readonly record: AccountLinkRecord;
  readonly account: AccountRecord;
}

/** A form of a link's page. */
interface LinkUse extends PostedForm<PageServices> {
  readonly link: ValidLink;
}

/** @param token as it was sent; `null` unless it is that of a valid link */
async function findLink(
  { store, clock }: Pick<PageRouter, 'store' | 'clock'>,
  token: string | undefined,
): Promise<ValidLink | null> {
  if (token === undefined) return null;
  const record = await store.findAccountLink(hashSecret(token), clock());
  const account = record === null ? null : await store.findAccount(record.accountId);
  return record === null || account === null ? null : { token, record, account };
}

/** What a passkey challenge of a link is bound to: the link works in any browser, but the passkey only for it. */
function bindingOf({ record }: ValidLink): readonly string[] {
  return ['link', record.hash];
}

/** Where the browser goes afterwards. */
const NEXT_PATHS = { invitation: '/setup', reset: accountNoticePath('reset') } as const;

/** The link's token is the CSRF protection: only its holder can submit the form. */
export function createAccountLinkRoutes(
  pages: PageRouter,
  { passwords, passkeys, factors, deviceCookies }: LocalLogin,
): readonly Route[] {
  const { options, store, clock, events, sessions } = pages;

  /** A mailbox alone does not replace the second factor; a link of an administrator does. */
  const needsCode = async ({ token, account }: ValidLink) =>
    isMailedLink(token) && (await factors.isEnabled(account.id));

  const show = async (
    { layout }: PageContext,
    link: ValidLink,
    wrong: PasswordErrors | null,
    trouble: string | null = null,
  ): Promise<HttpResponse> => {
    const { token, record, account } = link;
    // A passkey would sign in without the code.
    const keepsCodes = await needsCode(link);
    const offered = keepsCodes ? null : passkeys;
    const page = accountLinkPage(layout, {
      keepsCodes,
      purpose: record.purpose,
      token,
      email: account.email,
      errors: wrong,
      passkeyError: trouble,
      passkeyOptions: offered?.creationOptions(account, [], bindingOf(link)) ?? null,
    });
    const status = wrong === null && trouble === null ? 200 : 400;
    return respondPage(page, { status, script: true });
  };

  /** Where mail is sent, users help themselves to another reset link. */
  const showUsed = ({ errors, layout }: PageContext, purpose: AccountLinkRecord['purpose']) =>
    purpose === 'reset' && options.sendsMail
      ? errors.show('/reset', 'used-reset-link', {
          action: { label: layout.text('sign-in.forgotten'), href: '/login/forgotten?to=account' },
        })
      : errors.show(`/${purpose}`, 'used-link', {
          action: { label: layout.text('sign-in.submit'), href: loginPath('account') },
        });

  /** An invitation that is mailed late replaces what its user has chosen meanwhile: that is a reset, with its notice. */
  const isInUse = async (accountId: string) =>
    (await factors.isEnabled(accountId)) ||
    (await store.listSessions(accountId, clock())).length > 0 ||
    (await store.listGrants(accountId, clock(), null, 1)).length > 0;

  const use = async (
    { context, request, connection, link }: LinkUse,
    chosen: { readonly passwordHash: string; readonly passkey: PasskeyRecord | null },
  ) => {
    const { token, record, account } = link;
    const accountId = account.id;
    const redeemed = { ...chosen, keepsSecondFactor: isMailedLink(token) };
    const known = await store.listPasskeys(accountId);
    const losesCodes = !redeemed.keepsSecondFactor && (await factors.isEnabled(accountId));
    const purpose = known.length > 0 || (await isInUse(accountId)) ? 'reset' : record.purpose;
    // Point of no return: the link is used, and all other credentials are removed.
    if (!(await store.redeemAccountLink(record.hash, redeemed, clock()))) {
      return showUsed(context, record.purpose);
    }
    events({ type: 'account.link_used', accountId, purpose });
    if (losesCodes) events({ type: 'second_factor.disabled', accountId });
    for (const { id } of known) events({ type: 'passkey.removed', accountId, passkeyId: id });
    if (purpose === 'reset' && chosen.passkey !== null)
      events({ type: 'passkey.added', accountId, passkeyId: chosen.passkey.id });
    if (await needsCode(link)) return respondRedirect(`${loginPath('account')}&news=reset`);
    const changed = { ...account, passwordHash: chosen.passwordHash };
    const started = await sessions.start(request, connection, changed, { methods: PASSWORD_ALONE });
    if (started === null) return respondRedirect(loginPath('account'));
    return respondRedirect(NEXT_PATHS[record.purpose], [
      started.cookie,
      deviceCookies.issue(request, changed),
    ]);
  };

  const usePassword = async (given: LinkUse) => {
    const { context, link, form } = given;
    const issues = validateNewPassword(form, link.account.emailKey);
    if (issues !== null) return show(context, link, issues);
    const passwordHash = await passwords.hash(form.required('password'), link.account.emailKey);
    return use(given, { passwordHash, passkey: null });
  };

  const usePasskey = async (given: LinkUse, credential: string) => {
    const { context, request, link } = given;
    const name = suggestedName(context.layout, request);
    const offered = (await needsCode(link)) ? null : passkeys;
    const passkey =
      (await offered?.verifyRegistration(link.account, credential, name, bindingOf(link))) ?? null;
    if (passkey === null) return show(context, link, null, context.layout.text('passkey.not-used'));
    return use(given, { passwordHash: unusableHash(), passkey });
  };

  const routesOf = (purpose: AccountLinkRecord['purpose']): readonly Route[] => [
    pages.route('GET', `/${purpose}`, async (context, request) => {
      const link = await findLink(pages, readParameters(queryOf(request)).one('token'));
      return link?.record.purpose === purpose ? show(context, link, null) : showUsed(context, purpose);
    }),

    pages.form(`/${purpose}`, async (posted) => {
      const { context, form } = posted;
      const link = await findLink(pages, form.one('token'));
      if (link?.record.purpose !== purpose) return showUsed(context, purpose);
      const credential = form.one('credential');
      const given = { ...posted, link };
      return credential === undefined ? usePassword(given) : usePasskey(given, credential);
    }),
  ];
  return [...routesOf('invitation'), ...routesOf('reset')];
}
