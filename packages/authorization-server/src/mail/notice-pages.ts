/**
 * "This was not me": the page behind the link of a notice. Opening it changes nothing; its form ends what the notice is about, or
 * everything of the account, each once: a link that was forwarded could end every later session. The link's token is the CSRF
 * protection: only its holder can submit the form.
 */
import { type HttpResponse, queryOf } from '@portcullis/http';
import { readParameters } from '@portcullis/protocol';
import { html } from 'hono/html';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import { DEVICE_CODE_LIFETIME } from '../authorization/resolve-client.ts';
import type { EncryptedJson } from '../encryption/encrypted-json.ts';
import type { Route } from '../http/router.ts';
import { createRateLimitCheck } from '../rate-limit/limiter.ts';
import { hashSecret } from '../secrets.ts';
import type { AccountRecord } from '../store/index.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { messagePage } from '../ui/message-page.ts';
import { respondPage } from '../ui/respond-page.ts';
import { timeAgo } from '../ui/times.ts';
import { NOTICE_PATH } from './mailed-links.ts';
import type { Notice } from './notices.ts';

/** Seconds for which "this was not me" works. */
const NOTICE_LIFETIME = 7 * 86_400;

export function createNoticeRoutes(pages: PageRouter, notices: EncryptedJson<Notice>): readonly Route[] {
  const { store, events, clock, options } = pages;
  const chargeReset = createRateLimitCheck(pages, 'linkRequests');

  /** @returns `null`: the link is not valid, or its account is disabled or gone */
  const find = async (token: string | undefined) => {
    const notice = token === undefined ? null : notices.decrypt(token);
    if (notice === null || clock() - notice.at >= NOTICE_LIFETIME) return null;
    const account = await store.findAccount(notice.accountId);
    return account === null || account.disabledAt !== null ? null : { notice, account };
  };

  const endConnection = async (accountId: string, grantId: string, at: number) => {
    const isUnused = (await store.findGrant(grantId)) === null && clock() - at <= DEVICE_CODE_LIFETIME;
    // A code that may still be redeemed can only be invalidated with all others of the account.
    const count = await store.revokeAccountGrants(accountId, isUnused ? null : grantId, clock());
    if (count > 0)
      events({ type: 'grant.revoked', accountId, count, ...(!isUnused && { grantId }), reason: 'reported' });
  };

  const end = async (notice: Notice): Promise<void> => {
    const { accountId } = notice;
    if (notice.kind === 'connection') return endConnection(accountId, notice.grantId, notice.at);
    if (notice.kind === 'passkey') {
      if (await store.removePasskey(accountId, notice.passkeyId))
        events({ type: 'passkey.removed', accountId, passkeyId: notice.passkeyId });
    } else if (notice.kind === 'sign-in') {
      // Another sign-in in the same browser has replaced the session.
      const sessions = await store.listSessions(accountId, clock());
      const ended = sessions.filter(
        ({ hash, createdAt }) => hash === notice.sessionId || createdAt >= notice.at,
      );
      await Promise.all(ended.map(({ hash }) => store.endSession(hash)));
      if (ended.length > 0)
        events({ type: 'session.ended', accountId, count: ended.length, reason: 'reported' });
    }
  };

  /** The reset link is mailed, so that the link of a notice is not as powerful as one. */
  const secure = async ({ id: accountId }: AccountRecord, { layout }: PageContext) => {
    const count = await store.endSessions(accountId, null);
    if (count > 0) events({ type: 'session.ended', accountId, count, reason: 'reported' });
    events({ type: 'account.reset_requested', accountId, language: layout.language });
  };

  return [
    pages.route('GET', NOTICE_PATH, async ({ layout, errors }, request): Promise<HttpResponse> => {
      const token = readParameters(queryOf(request)).one('token');
      const found = await find(token);
      if (found === null || token === undefined) return errors.show(NOTICE_PATH, 'used-link');
      return respondPage(
        noticePage(layout, {
          token,
          notice: found.notice,
          canReset: found.account.emailKey.includes('@'),
          now: clock(),
        }),
      );
    }),

    pages.form(NOTICE_PATH, async ({ context, form }) => {
      const { layout, errors } = context;
      const found = await find(form.one('token'));
      if (found === null) return errors.show(NOTICE_PATH, 'used-link');
      const { kind } = found.notice;
      const canReset = found.account.emailKey.includes('@');
      const isSecured = form.one('secure') === 'yes' && canReset;
      if (kind === 'credentials' && !isSecured) return errors.show(NOTICE_PATH, 'bad-form');
      // Not the limit of the address: others could exhaust that.
      if (isSecured) await chargeReset(`notice ${found.account.id}`);
      const use = hashSecret(`notice ${JSON.stringify([isSecured, found.notice])}`);
      // Point of no return.
      if (!(await store.consumeClientAssertion(use, found.notice.at + NOTICE_LIFETIME)))
        return errors.show(NOTICE_PATH, 'used-link');
      await end(found.notice);
      if (isSecured) await secure(found.account, context);
      const ended = isSecured || kind === 'credentials' ? 'all' : kind;
      return respondPage(endedPage(layout, ended, canReset && options.localAccounts));
    }),
  ];
}

/** @param ended what the form ended @param canReset whether the account has a password here */
function endedPage(
  layout: Layout,
  ended: Exclude<Notice['kind'], 'credentials'> | 'all',
  canReset: boolean,
): Markup {
  if (ended === 'all') {
    const sentences = [layout.text('notice.secured-what')];
    return messagePage(layout, { isDone: true, heading: layout.text('forgotten.sent'), sentences });
  }
  return messagePage(layout, {
    isDone: true,
    heading: layout.text(`notice.ended.${ended}`),
    sentences: [layout.text(canReset ? 'notice.ended-what' : 'signed-out.close')],
    ...(canReset && {
      action: { label: layout.text('notice.new-password'), href: '/login/forgotten?to=account' },
    }),
  });
}

interface NoticePage {
  readonly token: string;
  readonly notice: Notice;
  /** Whether the account has a password here. */
  readonly canReset: boolean;
  /** Epoch seconds. */
  readonly now: number;
}

/** "This was not me". It names no account: the link may have been forwarded. */
function noticePage(layout: Layout, { token, notice, canReset, now }: NoticePage): Markup {
  const { kind, at } = notice;
  return renderPage(
    layout,
    layout.text('notice.heading'),
    html`<div class="head">
<h1>${layout.text('notice.heading')}</h1>
<p>${layout.say(`notice.${kind}`, { time: timeAgo(layout, at, now) })}</p>
</div>
<form class="stack once" method="post" action="/notice">
${hiddenFields({ token })}
${kind !== 'credentials' && html`<button class="button main">${layout.text(`notice.end.${kind}`)}</button>`}
${
  canReset &&
  html`<p class="fact">${layout.text('notice.secure-why')}</p>
<button class="button${kind === 'credentials' && ' main'}" name="secure" value="yes">${layout.text('notice.secure')}</button>`
}
</form>`,
    `/notice?${new URLSearchParams({ token })}`,
  );
}
