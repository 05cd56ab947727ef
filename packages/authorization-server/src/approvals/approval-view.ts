/** Views of approvals: a call with all that it would do, what was decided, and the calls that wait for a user. */
import { html } from 'hono/html';
import type { ApprovalRecord } from '../store/index.ts';
import { accountTabs } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { messagePage } from '../ui/message-page.ts';
import { describeDuration, timeAgo } from '../ui/times.ts';
import { APPROVALS_PATH } from './call-approvals.ts';
import { type ApprovalChoice, choicesOf, MAX_REASON } from './rules.ts';
import { foldedText, readShownArguments, visibleText } from './show-text.ts';
import { type DescribedTool, describeTool } from './tool-description.ts';

/** A call with the names that users know. */
export interface CallToApprove {
  readonly approval: ApprovalRecord;
  readonly appName: string;
  /** The address of the user; `null`: the app acts for itself. */
  readonly userName: string | null;
  readonly serverName: string;
}

export interface CallPage {
  readonly call: CallToApprove;
  /** Who is signed in. */
  readonly email: string;
  /** The CSRF token of an approver; `null`: others decide. */
  readonly token: string | null;
  readonly now: number;
}

export function callPage(layout: Layout, page: CallPage): Markup {
  const { call, email, token } = page;
  const { approval, serverName } = call;
  return renderPage(
    layout,
    layout.text('approval.title', { tool: approval.tool.slice(0, MAX_TITLE), server: serverName }),
    html`<div class="head" data-watch="pending">
<h1>${heading(layout, call)}</h1>
<p class="fact">${requestedFor(layout, call, page.now)}</p>
${token !== null && html`<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${email}</bdi>` })}</p>`}
</div>
${token === null && waiting(layout, approval)}
${argumentList(layout, approval)}
${toolFacts(layout, describeTool(approval))}
${token !== null && decisionForm(layout, approval, token)}
${pageScript(layout)}`,
  );
}

/** Characters of a tool's name in the title of the window. */
const MAX_TITLE = 60;

function heading(layout: Layout, { approval, appName, serverName }: CallToApprove): Markup {
  return layout.say('approval.heading', {
    app: html`<strong><bdi>${appName}</bdi></strong>`,
    tool: html`<code class="given">${visibleText(approval.tool, { isName: true })}</code>`,
    server: html`<bdi>${serverName}</bdi>`,
  });
}

function requestedFor(layout: Layout, { approval, userName }: CallToApprove, now: number): Markup {
  const time = timeAgo(layout, approval.createdAt, now);
  if (userName === null) return layout.say('approval.of-app', { time });
  return layout.say('approval.of-user', { time, email: html`<bdi>${userName}</bdi>` });
}

function waiting(layout: Layout, { approverGroups }: ApprovalRecord): Markup {
  const list = new Intl.ListFormat(layout.language, { type: 'disjunction' });
  return html`<div class="note" role="status">
<p><strong>${layout.text('approval.waiting')}</strong></p>
<p>${layout.text('approval.waiting-for', { groups: list.format(approverGroups ?? []) })}</p>
<p>${layout.text('approval.waiting-here')}</p>
</div>`;
}

function argumentList(layout: Layout, approval: ApprovalRecord): Markup {
  const given = readShownArguments(approval.arguments);
  if (given.length === 0) return html`<p>${layout.text('approval.no-arguments')}</p>`;
  return html`<section class="head">
<h2>${layout.text('approval.arguments')}</h2>
<dl class="arguments">
${given.map(({ name, text }) => html`<div><dt><code class="given">${visibleText(name, { isName: true })}</code></dt><dd>${foldedText(layout, text)}</dd></div>`)}
</dl>
</section>`;
}

function toolFacts(layout: Layout, { description, hints }: DescribedTool): Markup {
  return html`<section class="head">
<h2>${layout.text('approval.tool')}</h2>
${description === null ? html`<p class="fact">${layout.text('approval.no-description')}</p>` : foldedText(layout, description)}
${hints.length > 0 && html`<ul class="permissions fact">${hints.map((hint) => html`<li>${layout.text(`approval.hint.${hint}`)}</li>`)}</ul>`}
</section>`;
}

function decisionForm(layout: Layout, approval: ApprovalRecord, token: string): Markup {
  const labels: Readonly<Record<ApprovalChoice, string>> = {
    once: layout.text('approval.once'),
    repeatedly: layout.text('approval.repeatedly', {
      time: describeDuration(approval.reusableFor ?? 0, layout.language),
    }),
    deny: layout.text('approval.deny'),
  };
  const button = (choice: ApprovalChoice) =>
    html`<button class="button${choice === 'once' && ' main'}" name="decision" value="${choice}">${labels[choice]}</button>`;
  const [once, ...others] = choicesOf(approval);
  return html`<form class="stack once" method="post" action="${APPROVALS_PATH}/${approval.id}">
${hiddenFields({ token })}
<p class="fact">${layout.text(others.length > 1 ? 'approval.allows-same' : 'approval.allows-one')}</p>
<div class="field"><label for="reason">${layout.text('approval.reason')}</label>
<input id="reason" name="reason" type="text" autocomplete="off" maxlength="${MAX_REASON}"></div>
<div class="answers">
${others.toReversed().map(button)}
${once !== undefined && button(once)}
</div>
</form>`;
}

/** @param isOwn whether it is shown to the user of the call */
export function decidedPage(layout: Layout, approval: ApprovalRecord, isOwn: boolean): Markup {
  const isGranted = approval.outcome === 'approved';
  const action = { label: layout.text('approval.queue'), href: APPROVALS_PATH };
  return messagePage(layout, {
    isDone: isGranted,
    heading: layout.text(isGranted ? 'approval.granted' : 'approval.denied'),
    sentences: [
      layout.text(isGranted ? 'approval.granted-what' : 'approval.denied-what'),
      ...(isOwn ? [layout.text('approval.return')] : []),
    ],
    ...(!isOwn && { action }),
  });
}

export interface QueuePage {
  readonly calls: readonly CallToApprove[];
  readonly hasMore: boolean;
  readonly now: number;
}

export function queuePage(layout: Layout, { calls, hasMore, now }: QueuePage): Markup {
  const ids = calls.map(({ approval }) => approval.id.slice(0, 8)).join(' ');
  return renderPage(
    layout,
    layout.text('approval.queue'),
    html`<div class="head" data-watch="${ids}">
<h1>${layout.text('approval.queue')}</h1>
</div>
${accountTabs(layout, 'approvals')}
${calls.length === 0 && html`<p>${layout.text('approval.queue-empty')}</p>`}
${
  calls.length > 0 &&
  html`<ul class="rows cards">
${calls.map(
  (call) => html`<li class="row"><div class="head">
<h2 class="name">${heading(layout, call)}</h2>
<p class="fact">${requestedFor(layout, call, now)}</p>
</div>
<a class="button" href="${APPROVALS_PATH}/${call.approval.id}">${layout.text('approval.review')}</a></li>`,
)}
</ul>`
}
${hasMore && html`<p class="fact">${layout.text('approval.queue-more')}</p>`}
${pageScript(layout)}`,
    undefined,
    'wide',
  );
}
