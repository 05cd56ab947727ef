/** Views of device authorization: the form for the code, and which client requests access, from which address. */
import { html } from 'hono/html';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { timeAgo } from '../ui/times.ts';

export interface CodePage {
  /** As typed or from the link. */
  readonly userCode: string;
  readonly isWrong: boolean;
}

export function codePage(layout: Layout, { userCode, isWrong }: CodePage): Markup {
  return renderPage(
    layout,
    layout.text('device.heading'),
    html`<form class="fields" method="post" action="/device">
<div class="head">
<h1>${layout.text('device.heading')}</h1>
<p>${layout.text('device.enter')}</p>
</div>
<div class="field"><label for="user_code">${layout.text('device.code')}</label>
<input id="user_code" name="user_code" type="text" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required value="${userCode}"${isWrong && html` aria-invalid="true" aria-describedby="user_code-wrong"`} autofocus>
${isWrong && html`<p class="wrong" id="user_code-wrong" role="alert">${layout.text('device.wrong')}</p>`}</div>
<button class="button main">${layout.text('device.continue')}</button>
</form>`,
  );
}

export interface ConfirmPage {
  readonly userCode: string;
  readonly appName: string;
  /** The network address of the device; `null`: unknown. */
  readonly from: string | null;
  /** Epoch seconds. */
  readonly createdAt: number;
  readonly now: number;
}

/** @see RFC 8628 §5.4: remote phishing */
export function confirmPage(layout: Layout, page: ConfirmPage): Markup {
  const time = timeAgo(layout, page.createdAt, page.now);
  const from = page.from ?? layout.text('device.unknown-address');
  return renderPage(
    layout,
    layout.text('device.heading'),
    html`<form class="stack once" method="post" action="/device">
${hiddenFields({ user_code: page.userCode, confirmed: 'yes' })}
<div class="head">
<h1>${layout.text('device.compare')}</h1>
<p class="user-code"><code>${page.userCode}</code></p>
<p>${layout.say('device.asks', { app: html`<strong><bdi>${page.appName}</bdi></strong>` })}</p>
<p class="fact">${layout.say('device.from', { address: html`<code>${from}</code>`, time })}</p>
</div>
<p class="note">${layout.text('device.warning')}</p>
<div class="answers">
<a class="button" href="/device">${layout.text('consent.deny')}</a>
<button class="button main">${layout.text('device.continue')}</button>
</div>
</form>`,
  );
}
