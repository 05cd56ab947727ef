/** The consent page: who asks, for what, as whom one is signed in, where one returns, and the answers. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, key, layout } from './layout.ts';
import type { Markup } from './markup.ts';

export interface ConsentPage {
  readonly appName: string;
  /** Who says what the app is: the operator, the host on which its document stands, or nobody but itself. */
  readonly vouchedBy: 'operator' | { readonly host: string } | 'nobody';
  readonly server: Place;
  /** What is to be decided. */
  readonly asked: readonly AskedPower[];
  /** What the app can do already and keeps, a sentence each. */
  readonly kept: readonly string[];
  /** Whether all that is asked was allowed before. */
  readonly isKnown: boolean;
  readonly workspace: ChosenWorkspace;
  /** Where other workspaces can be chosen; `null` where there are none. */
  readonly othersPath: string | null;
  /** Who the app will act for: the account that is signed in, or whoever the third party says that one is.
   * `hasOthers`: whether there is another way to sign in. */
  readonly account: { readonly email: string } | { readonly provider: string; readonly hasOthers: boolean };
  /** Whose rights elsewhere the app's requests may use as well, in the third party's own words; nobody's when left out. */
  readonly identityProvider?: { readonly name: string; readonly scopes: readonly string[] };
  readonly returnTo: ReturnPlace;
  /** Whether one returns to another host than the one that vouches for the app. */
  readonly isElsewhere: boolean;
  /** What was missing in the answer before. */
  readonly wrong: 'nothing' | 'no-workspace' | null;
  /** The answer before: what was left switched on, and the workspace or an empty text; `null` when there was none: all is on. */
  readonly chosen: { readonly scopes: readonly string[]; readonly workspace: string } | null;
  /** What the forms carry without showing it. */
  readonly fields: Readonly<Record<string, string | null>>;
}

/** Something that the app could do. */
interface AskedPower {
  readonly scope: string;
  /** For people. */
  readonly sentence: string;
  /** Whether it comes to others that the app has already. */
  readonly isNew: boolean;
  readonly isOptional: boolean;
  /** What else comes with it, a sentence each. */
  readonly includes: readonly string[];
}

/** The workspace that the app will use, or those that it could; none where there are none. */
type ChosenWorkspace = { readonly chosen: NamedWorkspace } | { readonly choices: readonly NamedWorkspace[] };

interface NamedWorkspace {
  readonly id: string;
  readonly name: string;
}

/** A protected server. */
interface Place {
  readonly name: string;
  /** Host and path. */
  readonly place: string;
}

/** A protected server, and what an app can do there, a sentence each. */
export interface AskedResource extends Place {
  readonly powers: readonly string[];
}

/** Where the browser goes afterwards: a host, in punycode where it is not ASCII, or a scheme. */
interface ReturnPlace {
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly display: string;
}

/**
 * The form of the link by which one signs out stands apart. Enter in a switch presses the first button of its form,
 * which is the one that declines.
 */
const SWITCH_FORM = 'switch-account';

export const consentPage: Page<ConsentPage> = definePage('consent', renderConsent);

function renderConsent(frame: Frame, page: ConsentPage): Markup {
  const app = html`<strong><bdi>${page.appName}</bdi></strong>`;
  const server = html`<bdi>${page.server.name}</bdi>`;
  return layout(
    frame,
    frame.text('consent.title', { app: page.appName }),
    html`<form class="stack once consent" method="post" action="/consent">
${hidden(page.fields)}
<div class="head">
<h1>${frame.say(page.kept.length > 0 ? 'consent.heading-more' : 'consent.heading', { app, server })}</h1>
<p class="fact">${asker(frame, page)}</p>
<p class="fact">${account(frame, page)}</p>
</div>
${warning(frame, page)}
${workspace(frame, page)}
${powers(frame, page)}
${elsewhere(frame, page)}
<div class="head foot">
<p class="fact">${frame.say(`consent.return.${page.returnTo.kind}`, { place: code(page.returnTo.display) })}</p>
<div class="answers">
<button class="button" name="decision" value="deny">${frame.text('consent.deny')}</button>
<button class="button main" name="decision" value="allow">${frame.text('consent.allow')}</button>
</div>
</div>
</form>
<form id="${SWITCH_FORM}" hidden method="post" action="/consent">${hidden(page.fields)}</form>`,
    `/consent?${placeOf(page)}`,
  );
}

function placeOf({ fields: { flow, afresh } }: ConsentPage): URLSearchParams {
  return new URLSearchParams({ ...(flow != null && { flow }), ...(afresh != null && { afresh }) });
}

/** What this server will be allowed elsewhere in the person's name. */
function elsewhere(frame: Frame, { identityProvider }: ConsentPage): Markup {
  if (identityProvider === undefined || identityProvider.scopes.length === 0) return html``;
  const rights = html`${identityProvider.scopes.map((scope, index) => html`${index > 0 && ', '}${code(scope)}`)}`;
  return html`<p class="fact">${frame.say('consent.third-party', { provider: html`<bdi>${identityProvider.name}</bdi>`, rights })}</p>`;
}

/** As whom: who is signed in already, or by whom one will be. */
function account(frame: Frame, { account: by }: ConsentPage): Markup {
  const [sentence, other] =
    'email' in by
      ? [
          frame.say('consent.signed-in', { email: html`<bdi>${by.email}</bdi>` }),
          frame.text('consent.not-you'),
        ]
      : [
          frame.say('consent.will-sign-in', { provider: html`<bdi>${by.provider}</bdi>` }),
          by.hasOthers ? frame.text('consent.other-way') : null,
        ];
  return html`${sentence}${other !== null && html`\u00a0· <button class="link" form="${SWITCH_FORM}" name="decision" value="switch">${other}</button>`}`;
}

function code(text: string): Markup {
  return html`<code>${text}</code>`;
}

function powers(frame: Frame, { asked, chosen, kept, isKnown, server, wrong }: ConsentPage): Markup {
  const canChoose = asked.some(({ isOptional }) => isOptional);
  return html`<section class="head">
<h2 id="powers">${frame.say('consent.powers', { place: code(server.place) })}</h2>
${wrong === 'nothing' && html`<p class="wrong" role="alert">${frame.text('consent.wrong.nothing')}</p>`}
<ul class="powers" aria-labelledby="powers">
${asked.length === 0 ? html`<li>${key}<span>${frame.text('consent.in-your-name')}</span></li>` : asked.map((one) => power(frame, one, chosen === null || chosen.scopes.includes(one.scope)))}
</ul>
${canChoose && html`<p class="fact choose">${frame.text('consent.choose')}</p>`}
${isKnown && html`<p class="fact">${frame.text('consent.known')}</p>`}
${kept.length > 0 && html`<p class="fact">${frame.text('consent.keeps', { sentences: kept.join(' · ') })}</p>`}
</section>`;
}

function power(
  frame: Frame,
  { scope, sentence, isNew, isOptional, includes }: AskedPower,
  isOn: boolean,
): Markup {
  const text = html`<span>${sentence}${isNew && html` <em class="new">${frame.text('consent.new')}</em>`}${
    isOptional &&
    includes.length > 0 &&
    html`<small class="fact">${frame.text('consent.includes', { sentences: includes.join(' · ') })}</small>`
  }</span>`;
  return isOptional
    ? html`<li><label class="power">${key}${text}<input type="checkbox" role="switch" name="scope" value="${scope}"${isOn && html` checked`}></label></li>`
    : html`<li>${key}${text}${hidden({ scope })}</li>`;
}

function workspace(frame: Frame, { workspace: about, chosen, othersPath, wrong }: ConsentPage): Markup {
  if ('chosen' in about) {
    return html`<p class="fact">${frame.say('consent.in-workspace', { workspace: html`<strong><bdi>${about.chosen.name}</bdi></strong>` })}${
      othersPath !== null && html` · <a href="${othersPath}">${frame.text('consent.other-workspace')}</a>`
    }</p>`;
  }
  if (about.choices.length === 0) return html``;
  const isWrong = wrong === 'no-workspace';
  return html`<div class="field">
<label for="workspace">${frame.text('consent.workspace')}</label>
<select id="workspace" name="workspace" required${isWrong && html` aria-invalid="true" aria-describedby="workspace-wrong"`}>
<option value="">${frame.text('consent.choose-workspace')}</option>
${about.choices.map(({ id, name }) => html`<option value="${id}"${id === chosen?.workspace && html` selected`}>${name}</option>`)}
</select>
${isWrong && html`<p class="wrong" id="workspace-wrong" role="alert">${frame.text('consent.wrong.no-workspace')}</p>`}
</div>`;
}

/** Who vouches for the app. A host vouches for itself alone: the name beside it is still the app's own word. */
function asker(frame: Frame, { vouchedBy }: ConsentPage): Markup {
  if (vouchedBy === 'operator')
    return frame.say('consent.by-operator', { operator: html`<bdi>${frame.serverName}</bdi>` });
  return vouchedBy === 'nobody'
    ? frame.say('consent.by-nobody', {})
    : frame.say('consent.by-host', { host: code(vouchedBy.host) });
}

/**
 * What a person must be warned of, only where it is meant: that what answers `here` can be any program that knows the app's
 * name, or that one returns `elsewhere` than to the host that vouches for the app.
 */
export function warningOf({
  vouchedBy,
  returnTo,
  isElsewhere,
}: Pick<ConsentPage, 'vouchedBy' | 'returnTo' | 'isElsewhere'>): 'here' | 'elsewhere' | null {
  if (vouchedBy === 'operator') return null;
  if (returnTo.kind !== 'https') return 'here';
  return isElsewhere ? 'elsewhere' : null;
}

function warning(frame: Frame, page: ConsentPage): Markup {
  const { vouchedBy, returnTo } = page;
  const about = warningOf(page);
  if (about === 'here') return html`<p class="note">${frame.text('consent.warn-here')}</p>`;
  return about === 'elsewhere' && typeof vouchedBy === 'object'
    ? html`<p class="note">${frame.say('consent.warn-elsewhere', { host: code(vouchedBy.host), place: code(returnTo.display) })}</p>`
    : html``;
}
