/** Views of the MFA pages: TOTP set-up with a QR code, recovery codes, and the section on the account page. */
import { html, raw } from 'hono/html';
import { encode } from 'uqr';
import { mfaCodeField } from '../login/mfa-view.ts';
import { accountTabs } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import type { TotpSetup } from '../users/second-factors.ts';

export interface TotpSetupPage extends TotpSetup {
  readonly token: string;
  /** That the user confirmed the change. */
  readonly proof: string;
  readonly error: string | null;
}

export function totpSetupPage(layout: Layout, page: TotpSetupPage): Markup {
  return renderPage(
    layout,
    layout.text('account.codes'),
    html`${accountTabs(layout, 'account')}
<div class="head">
<h1>${layout.text('account.codes')}</h1>
<p>${layout.text('code.point')}</p>
</div>
${qrCode(page.link, layout.text('code.picture'))}
<p class="fact">${layout.say('code.no-camera', { secret: html`<code>${page.secret.match(/.{1,4}/g)?.join(' ')}</code>` })}</p>
<form class="stack once" method="post" action="/account/codes">
${hiddenFields({ token: page.token, proof: page.proof, encrypted_secret: page.encryptedSecret })}
${mfaCodeField(layout.text('code.shown'), page.error, null)}
<div class="answers">
<a class="button" href="/account">${layout.text('passkey.cancel')}</a>
<button class="button main">${layout.text('code.on')}</button>
</div>
</form>`,
  );
}

/** Dark on white in both colour schemes, because cameras need that. */
function qrCode(text: string, label: string): Markup {
  const { size, data } = encode(text, { ecc: 'M', border: 4 });
  const path = data
    .flatMap((cells, y) => cells.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return html`<svg class="picture" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${raw(path)}"/></svg>`;
}

/** Shown once. */
export function recoveryCodesPage(layout: Layout, codes: readonly string[]): Markup {
  return renderPage(
    layout,
    layout.text('code.keep-title'),
    html`<div class="head">
<h1>${layout.text('code.keep')}</h1>
<p>${layout.text('code.keep-why')}</p>
</div>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<div class="answers long">
<a class="button" href="${downloadAddress(codes)}" download="recovery-codes.txt">${layout.text('code.download')}</a>
<a class="button main" href="/account">${layout.text('code.kept')}</a>
</div>`,
    // The codes are shown only once, so no language switch.
    null,
  );
}

/** A text file as a data URL: needs no script and is stored nowhere. */
function downloadAddress(codes: readonly string[]): string {
  return `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}`;
}

/** @param recoveryCodes how many are left; `null`: MFA is off */
export function mfaSection(layout: Layout, recoveryCodes: number | null, token: string): Markup {
  if (recoveryCodes === null) {
    return html`<p class="fact">${layout.text('code.what')}</p>
<a class="button" href="/account/codes">${layout.text('code.set-up')}</a>`;
  }
  return html`<p class="fact">${layout.text('code.is-on', { number: recoveryCodes })}</p>
<a class="button" href="/account/codes/recovery">${layout.text('code.renew')}</a>
<div class="lesser fact">
<a href="/account/codes">${layout.text('code.set-up-again')}</a>
<form class="once" method="post" action="/account/codes/off">${hiddenFields({ token })}<button class="link">${layout.text('code.off')}</button></form>
</div>`;
}
