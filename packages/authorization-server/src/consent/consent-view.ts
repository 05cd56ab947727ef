/** The consent page: who asks, for what, as whom one is signed in, where one returns, and the answers. */
import { html } from 'hono/html';
import { hiddenFields, keyIcon, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

export interface ConsentPage {
  readonly appName: string;
  /** Who says what the app is: the operator, the host on which its document stands, or nobody but itself. */
  readonly verifiedBy: 'operator' | { readonly host: string } | 'nobody';
  readonly server: NamedServer;
  /** What is to be decided. */
  readonly requested: readonly RequestedPermission[];
  /** What the app can do already and keeps, a sentence each. */
  readonly alreadyGranted: readonly string[];
  /** Whether all that is asked was allowed before. */
  readonly isKnown: boolean;
  readonly workspace: WorkspaceChoice;
  /** Where other workspaces can be chosen; `null` where there are none. */
  readonly othersPath: string | null;
  /** Who the app will act for: the account that is signed in, or whoever the third party says that one is.
   * `hasOthers`: whether there is another way to sign in. */
  readonly account: { readonly email: string } | { readonly provider: string; readonly hasOthers: boolean };
  /** Whose rights elsewhere the app's requests may use as well, in the third party's own words; nobody's when left out. */
  readonly identityProvider?: { readonly name: string; readonly scopes: readonly string[] };
  readonly returnTo: RedirectDisplay;
  /** Whether one returns to another host than the one that vouches for the app. */
  readonly redirectsElsewhere: boolean;
  /** What was missing in the answer before. */
  readonly error: 'nothing' | 'no-workspace' | null;
  /** The answer before: what was left switched on, and the workspace or an empty text; `null` when there was none: all is on. */
  readonly chosen: { readonly scopes: readonly string[]; readonly workspace: string } | null;
  /** What the forms carry without showing it. */
  readonly fields: Readonly<Record<string, string | null>>;
}

/** Something that the app could do. */
interface RequestedPermission {
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
type WorkspaceChoice = { readonly chosen: NamedWorkspace } | { readonly choices: readonly NamedWorkspace[] };

interface NamedWorkspace {
  readonly id: string;
  readonly name: string;
}

/** A protected server. */
interface NamedServer {
  readonly name: string;
  /** Host and path. */
  readonly place: string;
}

/** A protected server, and what an app can do there, a sentence each. */
export interface DescribedResource extends NamedServer {
  readonly permissions: readonly string[];
}

/** Where the browser goes afterwards: a host, in punycode where it is not ASCII, or a scheme. */
interface RedirectDisplay {
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly display: string;
}

/**
 * The form of the link by which one signs out stands apart. Enter in a switch presses the first button of its form,
 * which is the one that declines.
 */
const SWITCH_FORM = 'switch-account';

export function consentPage(layout: Layout, page: ConsentPage): Markup {
  const app = html`<strong><bdi>${page.appName}</bdi></strong>`;
  const server = html`<bdi>${page.server.name}</bdi>`;
  return renderPage(
    layout,
    layout.text('consent.title', { app: page.appName }),
    html`<form class="stack once consent" method="post" action="/consent">
${hiddenFields(page.fields)}
<div class="head">
<h1>${layout.say(page.alreadyGranted.length > 0 ? 'consent.heading-more' : 'consent.heading', { app, server })}</h1>
<p class="fact">${publisher(layout, page)}</p>
<p class="fact">${account(layout, page)}</p>
</div>
${warningNote(layout, page)}
${workspace(layout, page)}
${permissions(layout, page)}
${upstreamScopes(layout, page)}
<div class="head foot">
<p class="fact">${layout.say(`consent.return.${page.returnTo.kind}`, { place: code(page.returnTo.display) })}</p>
<div class="answers">
<button class="button" name="decision" value="deny">${layout.text('consent.deny')}</button>
<button class="button main" name="decision" value="allow">${layout.text('consent.allow')}</button>
</div>
</div>
</form>
<form id="${SWITCH_FORM}" hidden method="post" action="/consent">${hiddenFields(page.fields)}</form>`,
    `/consent?${transactionQuery(page)}`,
  );
}

function transactionQuery({ fields: { flow, afresh } }: ConsentPage): URLSearchParams {
  return new URLSearchParams({ ...(flow != null && { flow }), ...(afresh != null && { afresh }) });
}

/** What this server will be allowed elsewhere in the person's name. */
function upstreamScopes(layout: Layout, { identityProvider }: ConsentPage): Markup {
  if (identityProvider === undefined || identityProvider.scopes.length === 0) return html``;
  const rights = html`${identityProvider.scopes.map((scope, index) => html`${index > 0 && ', '}${code(scope)}`)}`;
  return html`<p class="fact">${layout.say('consent.provider-scopes', { provider: html`<bdi>${identityProvider.name}</bdi>`, rights })}</p>`;
}

/** As whom: who is signed in already, or by whom one will be. */
function account(layout: Layout, { account: by }: ConsentPage): Markup {
  const [sentence, other] =
    'email' in by
      ? [
          layout.say('consent.signed-in', { email: html`<bdi>${by.email}</bdi>` }),
          layout.text('consent.not-you'),
        ]
      : [
          layout.say('consent.will-sign-in', { provider: html`<bdi>${by.provider}</bdi>` }),
          by.hasOthers ? layout.text('consent.other-way') : null,
        ];
  return html`${sentence}${other !== null && html`\u00a0· <button class="link" form="${SWITCH_FORM}" name="decision" value="switch">${other}</button>`}`;
}

function code(text: string): Markup {
  return html`<code>${text}</code>`;
}

function permissions(
  layout: Layout,
  { requested: asked, chosen, alreadyGranted: kept, isKnown, server, error: wrong }: ConsentPage,
): Markup {
  const canChoose = asked.some(({ isOptional }) => isOptional);
  return html`<section class="head">
<h2 id="powers">${layout.say('consent.permissions', { place: code(server.place) })}</h2>
${wrong === 'nothing' && html`<p class="wrong" role="alert">${layout.text('consent.error.nothing')}</p>`}
<ul class="powers" aria-labelledby="powers">
${asked.length === 0 ? html`<li>${keyIcon}<span>${layout.text('consent.in-your-name')}</span></li>` : asked.map((one) => permissionItem(layout, one, chosen === null || chosen.scopes.includes(one.scope)))}
</ul>
${canChoose && html`<p class="fact choose">${layout.text('consent.choose')}</p>`}
${isKnown && html`<p class="fact">${layout.text('consent.known')}</p>`}
${kept.length > 0 && html`<p class="fact">${layout.text('consent.already-granted', { sentences: kept.join(' · ') })}</p>`}
</section>`;
}

function permissionItem(
  layout: Layout,
  { scope, sentence, isNew, isOptional, includes }: RequestedPermission,
  isOn: boolean,
): Markup {
  const text = html`<span>${sentence}${isNew && html` <em class="new">${layout.text('consent.new')}</em>`}${
    isOptional &&
    includes.length > 0 &&
    html`<small class="fact">${layout.text('consent.includes', { sentences: includes.join(' · ') })}</small>`
  }</span>`;
  return isOptional
    ? html`<li><label class="power">${keyIcon}${text}<input type="checkbox" role="switch" name="scope" value="${scope}"${isOn && html` checked`}></label></li>`
    : html`<li>${keyIcon}${text}${hiddenFields({ scope })}</li>`;
}

function workspace(
  layout: Layout,
  { workspace: about, chosen, othersPath, error: wrong }: ConsentPage,
): Markup {
  if ('chosen' in about) {
    return html`<p class="fact">${layout.say('consent.in-workspace', { workspace: html`<strong><bdi>${about.chosen.name}</bdi></strong>` })}${
      othersPath !== null && html` · <a href="${othersPath}">${layout.text('consent.other-workspace')}</a>`
    }</p>`;
  }
  if (about.choices.length === 0) return html``;
  const isWrong = wrong === 'no-workspace';
  return html`<div class="field">
<label for="workspace">${layout.text('consent.workspace')}</label>
<select id="workspace" name="workspace" required${isWrong && html` aria-invalid="true" aria-describedby="workspace-wrong"`}>
<option value="">${layout.text('consent.choose-workspace')}</option>
${about.choices.map(({ id, name }) => html`<option value="${id}"${id === chosen?.workspace && html` selected`}>${name}</option>`)}
</select>
${isWrong && html`<p class="wrong" id="workspace-wrong" role="alert">${layout.text('consent.error.no-workspace')}</p>`}
</div>`;
}

/** Who vouches for the app. A host vouches for itself alone: the name beside it is still the app's own word. */
function publisher(layout: Layout, { verifiedBy: vouchedBy }: ConsentPage): Markup {
  if (vouchedBy === 'operator')
    return layout.say('consent.by-operator', { operator: html`<bdi>${layout.serverName}</bdi>` });
  return vouchedBy === 'nobody'
    ? layout.say('consent.unverified', {})
    : layout.say('consent.by-host', { host: code(vouchedBy.host) });
}

/**
 * What a person must be warned of, only where it is meant: that what answers `here` can be any program that knows the app's
 * name, or that one returns `elsewhere` than to the host that vouches for the app.
 */
export function findConsentWarning({
  verifiedBy: vouchedBy,
  returnTo,
  redirectsElsewhere: isElsewhere,
}: Pick<ConsentPage, 'verifiedBy' | 'returnTo' | 'redirectsElsewhere'>): 'here' | 'elsewhere' | null {
  if (vouchedBy === 'operator') return null;
  if (returnTo.kind !== 'https') return 'here';
  return isElsewhere ? 'elsewhere' : null;
}

function warningNote(layout: Layout, page: ConsentPage): Markup {
  const { verifiedBy: vouchedBy, returnTo } = page;
  const about = findConsentWarning(page);
  if (about === 'here') return html`<p class="note">${layout.text('consent.warn-here')}</p>`;
  return about === 'elsewhere' && typeof vouchedBy === 'object'
    ? html`<p class="note">${layout.say('consent.warn-elsewhere', { host: code(vouchedBy.host), place: code(returnTo.display) })}</p>`
    : html``;
}
