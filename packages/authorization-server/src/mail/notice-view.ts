/** View of "this was not me". It names no account: the link may have been forwarded. */
import { html } from 'hono/html';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { timeAgo } from '../ui/times.ts';
import type { Notice } from './notices.ts';

interface NoticePage {
  readonly token: string;
  readonly notice: Notice;
  /** Whether the account has a password here. */
  readonly canReset: boolean;
  /** Epoch seconds. */
  readonly now: number;
}

export function noticePage(layout: Layout, { token, notice, canReset, now }: NoticePage): Markup {
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
