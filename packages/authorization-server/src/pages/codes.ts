/** The pages of codes from an app: setting them up, the recovery codes, and the code that signing in asks for. */
import { html, raw } from 'hono/html';
import { encode } from 'uqr';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { tabs } from './tabs.ts';

/** Where six digits or a recovery code are typed. */
function codeField(label: string, wrong: string | null, hint: string | null): Markup {
  const notes = [wrong !== null && 'code-wrong', hint !== null && 'code-hint'].filter(
    (note) => note !== false,
  );
  return html`<div class="field">
<label for="code">${label}</label>
<input id="code" name="code" type="text" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" maxlength="40" required autofocus${
    wrong !== null && html` aria-invalid="true"`
  }${notes.length > 0 && html` aria-describedby="${notes.join(' ')}"`}>
${wrong !== null && html`<p class="wrong" id="code-wrong" role="alert">${wrong}</p>`}
${hint !== null && html`<p class="hint" id="code-hint">${hint}</p>`}
</div>`;
}

export interface CodePage {
  readonly fields: Readonly<Record<string, string>>;
  readonly wrong: string | null;
  /** Where one begins again. */
  readonly again: string;
}

/** Half-way into a sign-in. */
export const codePage: Page<CodePage> = definePage('code', renderCode);

function renderCode(frame: Frame, page: CodePage): Markup {
  return layout(
    frame,
    frame.text(page.wrong === null ? 'code.heading' : 'sign-in.failed-title'),
    html`<div class="head">
<h1>${frame.text('code.heading')}</h1>
<p>${frame.text('code.where')}</p>
</div>
<form class="stack once" method="post" action="/login/code">
${hidden(page.fields)}
${codeField(frame.text('code.label'), page.wrong, frame.text('code.recovery'))}
<button class="button main">${frame.text('sign-in.submit')}</button>
</form>
<p class="fact"><a href="${page.again}">${frame.text('code.other')}</a></p>`,
    page.again,
  );
}

export interface SetUpCodesPage {
  readonly secret: string;
  readonly link: string;
  readonly sealed: string;
  readonly token: string;
  readonly wrong: string | null;
}

export const setUpCodesPage: Page<SetUpCodesPage> = definePage('set-up-codes', renderSetUpCodes);

function renderSetUpCodes(frame: Frame, page: SetUpCodesPage): Markup {
  return layout(
    frame,
    frame.text('account.codes'),
    html`${tabs(frame, 'account')}
<div class="head">
<h1>${frame.text('account.codes')}</h1>
<p>${frame.text('code.point')}</p>
</div>
${picture(page.link, frame.text('code.picture'))}
<p class="fact">${frame.say('code.no-camera', { secret: html`<code>${page.secret.match(/.{1,4}/g)?.join(' ')}</code>` })}</p>
<form class="stack once" method="post" action="/account/codes">
${hidden({ token: page.token, sealed: page.sealed })}
${codeField(frame.text('code.shown'), page.wrong, null)}
<div class="answers">
<a class="button" href="/account">${frame.text('passkey.cancel')}</a>
<button class="button main">${frame.text('code.on')}</button>
</div>
</form>`,
  );
}

/** Dark on white whatever the scheme: cameras want it so. */
function picture(text: string, label: string): Markup {
  const { size, data } = encode(text, { ecc: 'M', border: 4 });
  const path = data
    .flatMap((cells, y) => cells.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('');
  return html`<svg class="picture" viewBox="0 0 ${size} ${size}" role="img" aria-label="${label}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${raw(path)}"/></svg>`;
}

export interface RenewCodesPage {
  readonly token: string;
  readonly wrong: string | null;
}

/** Asks for a code before the recovery codes are replaced. */
export const renewCodesPage: Page<RenewCodesPage> = definePage('renew-codes', renderRenewCodes);

function renderRenewCodes(frame: Frame, { token, wrong }: RenewCodesPage): Markup {
  return layout(
    frame,
    frame.text('code.renew'),
    html`${tabs(frame, 'account')}
<div class="head">
<h1>${frame.text('code.renew')}</h1>
<p>${frame.text('code.renew-why')}</p>
</div>
<form class="stack once" method="post" action="/account/codes/recovery">
${hidden({ token })}
${codeField(frame.text('code.shown'), wrong, frame.text('code.recovery'))}
<div class="answers">
<a class="button" href="/account">${frame.text('passkey.cancel')}</a>
<button class="button main">${frame.text('code.renew-submit')}</button>
</div>
</form>`,
  );
}

/** Shown once. */
export interface RecoveryCodesPage {
  readonly codes: readonly string[];
}

export const recoveryCodesPage: Page<RecoveryCodesPage> = definePage('recovery-codes', renderRecoveryCodes);

function renderRecoveryCodes(frame: Frame, { codes }: RecoveryCodesPage): Markup {
  return layout(
    frame,
    frame.text('code.keep-title'),
    html`<div class="head">
<h1>${frame.text('code.keep')}</h1>
<p>${frame.text('code.keep-why')}</p>
</div>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<div class="answers long">
<a class="button" href="${asFile(codes)}" download="recovery-codes.txt">${frame.text('code.download')}</a>
<a class="button main" href="/account">${frame.text('code.kept')}</a>
</div>`,
    // Nobody sees these codes again.
    null,
  );
}

/** A text file in its own address: it needs no script, and stands nowhere but on the page. */
function asFile(codes: readonly string[]): string {
  return `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}`;
}

/** On the account page. @param recoveryCodes how many are left; `null` when it is off */
export function codesSection(frame: Frame, recoveryCodes: number | null, token: string): Markup {
  if (recoveryCodes === null) {
    return html`<p class="fact">${frame.text('code.what')}</p>
<a class="button" href="/account/codes">${frame.text('code.set-up')}</a>`;
  }
  return html`<p class="fact">${frame.text('code.is-on', { number: recoveryCodes })}</p>
<a class="button" href="/account/codes/recovery">${frame.text('code.renew')}</a>
<div class="answers">
<a class="button" href="/account/codes">${frame.text('code.anew')}</a>
<form class="once" method="post" action="/account/codes/off">${hidden({ token })}<button class="button">${frame.text('code.off')}</button></form>
</div>`;
}
