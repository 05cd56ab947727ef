/** The pages of approvals: the calls that wait for a user, and one call, which its approver decides about and its user waits for. */
import { type HttpRequest, type HttpResponse, pathOf } from '@portcullis/http';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { ServerContext } from '../context.ts';
import { clientDisplayName, displayName } from '../display-name.ts';
import { defineCookie } from '../http/cookies.ts';
import type { Route } from '../http/router.ts';
import { findPermittedUser } from '../login/permitted-user.ts';
import type { ApprovalRecord } from '../store/index.ts';
import { accountPaths, loginPath } from '../ui/account-tabs.ts';
import { respondPage, respondRedirect } from '../ui/respond-page.ts';
import { translate } from '../ui/translations.ts';
import type { User } from '../users/sessions.ts';
import { readUserClaims } from '../users/user-claims.ts';
import { type CallToApprove, callPage, decidedPage, queuePage } from './approval-view.ts';
import { APPROVALS_PATH, createCallApprovals } from './call-approvals.ts';
import { decideApproval } from './decide.ts';
import { type Approver, choicesOf, mayDecide, maySee } from './rules.ts';

const ONE = `${APPROVALS_PATH}/*`;
/** Seconds for which the browser keeps the approval while its user signs in. */
const COOKIE_LIFETIME = 1800;
/** Calls on the page of an approver. */
const MAX_LISTED = 50;

interface OpenedApproval {
  readonly user: User;
  readonly approver: Approver;
  readonly approval: ApprovalRecord;
}

function createApprovalPages(pages: PageRouter): readonly Route[] {
  const { csrfTokens, options } = pages;
  const cookie = defineCookie(options.issuer, 'approval');
  const csrfBinding = (user: User, id: string) => [user.sessionHash, 'approval', id] as const;

  return [
    pages.route('GET', APPROVALS_PATH, async (context, request) => {
      const user = await findPermittedUser(pages, request);
      if (user === null) return respondRedirect(loginPath('approvals'));
      const opened = cookie.read(request);
      if (opened !== null) return respondRedirect(`${APPROVALS_PATH}/${opened}`, [cookie.clear()]);
      return showQueue(context, await approverOf(context, user));
    }),

    pages.route('GET', ONE, async (context, request) => {
      const user = await findPermittedUser(pages, request);
      // In a cookie, so that signing in leads back here.
      if (user === null)
        return respondRedirect(loginPath('approvals'), [cookie.write(idOf(request), COOKIE_LIFETIME)]);
      const found = await open(context, request, user);
      if (found === null) return context.errors.show(ONE, 'unknown-approval');
      if (isForConsole(found.approval)) return redirectToConsole(found.approval);
      const token = csrfTokens.issue('account', ...csrfBinding(user, found.approval.id));
      return show(context, found, token);
    }),

    pages.form(ONE, async ({ context, request, form }) => {
      const user = await findPermittedUser(pages, request);
      if (user === null) return respondRedirect(loginPath('approvals'));
      const path = `${APPROVALS_PATH}/${idOf(request)}`;
      if (!csrfTokens.matches(form.one('token'), 'account', ...csrfBinding(user, idOf(request))))
        return context.errors.rejectForm(ONE, APPROVALS_PATH);
      const found = await open(context, request, user);
      if (found === null || !mayDecide(found.approval, found.approver))
        return context.errors.show(ONE, 'unknown-approval');
      if (isForConsole(found.approval)) return redirectToConsole(found.approval);
      const choice = choicesOf(found.approval).find((one) => one === form.one('decision'));
      if (choice !== undefined)
        await decideApproval(context, found.approval, choice, user.account.id, form.one('reason'));
      // What was decided first is shown.
      return respondRedirect(path);
    }),
  ];
}

/** A change through the admin MCP server is decided about in the console, which checks role and second factor. */
function isForConsole({ rule, outcome }: ApprovalRecord): boolean {
  return rule === 'admin.approvals' && outcome === null;
}

function redirectToConsole({ id }: ApprovalRecord): HttpResponse {
  return respondRedirect(`${accountPaths.console}${APPROVALS_PATH}/${id}`);
}

/** Anything that is no ID names no approval. */
function idOf(request: HttpRequest): string {
  const id = pathOf(request).slice(APPROVALS_PATH.length + 1);
  return /^[\w-]{43}$/.test(id) ? id : '';
}

async function approverOf({ store }: Pick<PageContext, 'store'>, { account }: User): Promise<Approver> {
  const { groups = [] } = await readUserClaims(store, account.id, ['groups']);
  return { accountId: account.id, groups };
}

/** `null`: there is none, it has ended, or it is not for this user. */
async function open(context: PageContext, request: HttpRequest, user: User): Promise<OpenedApproval | null> {
  const { store, clock } = context;
  const id = idOf(request);
  const approval = id === '' ? null : await store.findApproval(id, clock());
  if (approval === null) return null;
  const approver = await approverOf(context, user);
  return maySee(approval, approver) ? { user, approver, approval } : null;
}

async function show(
  context: PageContext,
  { approval, approver, user }: OpenedApproval,
  token: string,
): Promise<HttpResponse> {
  const { layout } = context;
  if (approval.outcome !== null) {
    const isOwn = approval.subject === approver.accountId;
    return respondPage(decidedPage(layout, approval, isOwn));
  }
  const page = callPage(layout, {
    call: await describe(context, approval),
    email: user.account.email,
    token: mayDecide(approval, approver) ? token : null,
    now: context.clock(),
  });
  return respondPage(page, { script: true, polls: true });
}

async function showQueue(context: PageContext, { accountId, groups }: Approver): Promise<HttpResponse> {
  const { store, clock, layout } = context;
  const now = clock();
  const [own, ofGroups] = await Promise.all([
    store.listPendingApprovals({ subject: accountId }, now, MAX_LISTED),
    store.listPendingApprovals({ groups }, now, MAX_LISTED),
  ]);
  const pending = [...own, ...ofGroups].toSorted((one, other) => one.createdAt - other.createdAt);
  const listed = pending.slice(0, MAX_LISTED);
  const calls = await Promise.all(listed.map((approval) => describe(context, approval)));
  const hasMore = pending.length > listed.length || ofGroups.length === MAX_LISTED;
  return respondPage(queuePage(layout, { calls, hasMore, now }), { script: true, polls: true });
}

/** Names in place of identifiers. */
async function describe(context: PageContext, approval: ApprovalRecord): Promise<CallToApprove> {
  const { store, options, layout, findClient } = context;
  const [account, client] = await Promise.all([
    store.findAccount(approval.subject),
    findClient(approval.clientId, 'resume').catch(() => null),
  ]);
  const resource = options.resources.get(new URL(approval.server, options.issuer).href);
  return {
    approval,
    appName: client === null ? layout.text('app.gone') : clientDisplayName(client, layout),
    userName: account?.email ?? null,
    serverName: displayName(
      resource === undefined ? approval.server : translate(resource, layout.language).name,
    ),
  };
}

export type ApprovalsFeature = ReturnType<typeof createApprovals>;

/** @param writeEvents stores the events so far */
export function createApprovals(context: ServerContext, writeEvents: () => Promise<void>) {
  return { calls: createCallApprovals({ ...context, writeEvents }), routes: createApprovalPages };
}
