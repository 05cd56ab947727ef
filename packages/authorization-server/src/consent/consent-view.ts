/** The consent page: the app, the requested permissions, the account, the redirect target, and the decision. */
import { html } from 'hono/html';
import type { UserClaim } from '../resource-options.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import { accessIcon, appMark, monogram } from '../ui/marks.ts';
import type { Markup } from '../ui/markup.ts';
import { timeAgo } from '../ui/times.ts';
import { type DescribedAccess, isDestructive } from './scope-access.ts';

export interface ConsentPage {
  readonly appName: string;
  /** Path of its logo; `null`: a monogram. */
  readonly logoPath: string | null;
  readonly clientId: string;
  /** Epoch seconds; `null`: the app did not register itself. */
  readonly registeredAt: number | null;
  /** Who verified the app's name: the operator, or the host of its metadata document. */
  readonly verifiedBy: 'operator' | { readonly host: string } | 'unverified';
  readonly server: NamedServer;
  /** Permissions to decide on. */
  readonly requested: readonly RequestedPermission[];
  /** Permissions that the app keeps, a sentence each. */
  readonly alreadyGranted: readonly string[];
  /** Whether all requested permissions were allowed before. */
  readonly isKnown: boolean;
  /** Whether the user has no connection of this app yet. */
  readonly isFirstUse: boolean;
  /** What the server learns about the user. */
  readonly sharedClaims: readonly UserClaim[];
  readonly workspace: WorkspaceChoice;
  /** Path for choosing another workspace; `null`: none. */
  readonly othersPath: string | null;
  /** The account that the app will act for: of the session, or of the identity provider. `hasOthers`: there is another way to
   * log in. */
  readonly account: { readonly email: string } | { readonly provider: string; readonly hasOthers: boolean };
  /** The identity provider whose scopes the grant will also cover. */
  readonly identityProvider?: { readonly name: string; readonly scopes: readonly string[] };
  readonly returnTo: RedirectDisplay;
  /** Whether the redirect URI is on another host than the app's metadata document. */
  readonly redirectsElsewhere: boolean;
  /** What was missing in the previous decision. */
  readonly error: 'nothing' | 'no-workspace' | null;
  /** The previous choice; `null`: none, so everything is on, except what is off by default. */
  readonly chosen: { readonly scopes: readonly string[]; readonly workspace: string } | null;
  /** Epoch seconds. */
  readonly now: number;
  /** Hidden form fields. */
  readonly fields: Readonly<Record<string, string | null>>;
}

/** A permission: one scope in words. */
interface RequestedPermission extends DescribedAccess {
  readonly scope: string;
  /** As users read it. */
  readonly sentence: string;
  /** Whether the app already has other permissions. */
  readonly isNew: boolean;
  /** Whether the app did not ask for it. */
  readonly isExtra: boolean;
  readonly isOptional: boolean;
  /** Implied permissions, a sentence each. */
  readonly includes: readonly string[];
}

/** The chosen workspace, or the ones to choose from. */
type WorkspaceChoice = { readonly chosen: NamedWorkspace } | { readonly choices: readonly NamedWorkspace[] };

interface NamedWorkspace {
  readonly id: string;
  readonly name: string;
}

/** A protected server. */
interface NamedServer {
  readonly name: string;
  /** Host and path. */
  readonly address: string;
}

/** A protected server with permissions, a sentence each. */
export interface DescribedResource extends NamedServer {
  readonly permissions: readonly string[];
}

/** Where the browser goes afterwards: a host (in punycode if not ASCII) or a scheme. */
interface RedirectDisplay {
  readonly kind: 'https' | 'loopback' | 'private-use';
  readonly display: string;
}

/**
 * The button that switches accounts belongs to a form of its own, because Enter in a checkbox presses the first button of its
 * form, which must be Cancel.
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
${marks(page)}
<h1>${layout.say(page.alreadyGranted.length > 0 ? 'consent.heading-more' : 'consent.heading', { app, server })}</h1>
<p class="fact">${publisher(layout, page)}</p>
<p class="fact">${account(layout, page)}</p>
</div>
${warningNote(layout, page)}
${workspace(layout, page)}
${permissions(layout, page)}
${sharedClaims(layout, page)}
${upstreamScopes(layout, page)}
<div class="head foot">
<p class="fact">${layout.say(`consent.return.${page.returnTo.kind}`, { target: code(page.returnTo.display) })}</p>
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

/** Scopes that say who the user is: in words, not by name. */
const IDENTITY_SCOPES = [
  'openid',
  'profile',
  'email',
  'read:user',
  'user:email',
  'read_user',
  'offline_access',
];

/** What the protected server learns about the user. */
function sharedClaims(layout: Layout, { sharedClaims: claims, server }: ConsentPage): Markup {
  if (claims.length === 0) return html``;
  const names = (['identity', ...claims] as const).map((claim) => layout.text(`consent.claim.${claim}`));
  const listed = new Intl.ListFormat(layout.language).format(names);
  return html`<p class="fact">${layout.say('consent.share-claims', { server: html`<bdi>${server.name}</bdi>`, claims: listed })}</p>`;
}

/** What this server will get at the identity provider. */
function upstreamScopes(layout: Layout, { identityProvider }: ConsentPage): Markup {
  if (identityProvider === undefined || identityProvider.scopes.length === 0) return html``;
  const { name, scopes } = identityProvider;
  const others = scopes.filter((scope) => !IDENTITY_SCOPES.includes(scope));
  const rights = html`${others.map((scope, index) => html`${index > 0 && ', '}${code(scope)}`)}`;
  const provider = html`<bdi>${name}</bdi>`;
  const sharesEmail = scopes.some((scope) => scope.includes('email'));
  return html`<p class="fact">${layout.text(sharesEmail ? 'consent.share-email' : 'consent.share')}${
    others.length > 0 && html` ${layout.say('consent.provider-scopes', { provider, rights })}`
  }</p>`;
}

/** The account of the session, or the identity provider of the coming login. */
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

/** The app and the server, as pictures. */
function marks({ appName, logoPath, clientId, verifiedBy, server }: ConsentPage): Markup {
  const key = typeof verifiedBy === 'object' ? verifiedBy.host : clientId;
  return html`<p class="marks">${appMark(appName, key, logoPath)}<svg width="20" height="20" viewBox="0 0 20 20" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d="M3 7h13m-3-3 3 3-3 3M17 13H4m3-3-3 3 3 3"/></svg>${monogram(server.name, server.address, 'server')}</p>`;
}

function permissions(
  layout: Layout,
  { requested, chosen, alreadyGranted: kept, isKnown, server, error: wrong }: ConsentPage,
): Markup {
  const canChoose = requested.some(({ isOptional }) => isOptional);
  const item = (one: RequestedPermission) =>
    permissionItem(layout, one, chosen === null ? !one.isOffByDefault : chosen.scopes.includes(one.scope));
  const asked = requested.filter(({ isExtra }) => !isExtra);
  const extras = requested.filter(({ isExtra }) => isExtra);
  const harmless = asked.filter(({ access }) => !isDestructive(access));
  const destructive = asked.filter(({ access }) => isDestructive(access));
  return html`<section class="head">
<h2 id="powers">${layout.say('consent.permissions', { address: code(server.address) })}</h2>
${wrong === 'nothing' && html`<p class="wrong" role="alert">${layout.text('consent.error.nothing')}</p>`}
${requested.length === 0 && html`<ul class="powers" aria-labelledby="powers"><li>${accessIcon('other')}<span>${layout.text('consent.in-your-name')}</span></li></ul>`}
${harmless.length > 0 && html`<ul class="powers" aria-labelledby="powers">${harmless.map(item)}</ul>`}
${
  destructive.length > 0 &&
  html`<div class="risky">
<h3 id="risky">${layout.text('consent.destructive')}</h3>
<ul class="powers" aria-labelledby="risky">${destructive.map(item)}</ul>
</div>`
}
${
  extras.length > 0 &&
  html`<div class="head">
<h3 id="extras">${layout.text('consent.extras')}</h3>
<ul class="powers" aria-labelledby="extras">${extras.map(item)}</ul>
</div>`
}
${canChoose && html`<p class="fact choose">${layout.text('consent.choose')}</p>`}
${isKnown && html`<p class="fact">${layout.text('consent.known')}</p>`}
${kept.length > 0 && html`<p class="fact">${layout.text('consent.already-granted', { sentences: kept.join(' · ') })}</p>`}
</section>`;
}

function permissionItem(
  layout: Layout,
  { scope, sentence, isNew, isOptional, includes, access }: RequestedPermission,
  isOn: boolean,
): Markup {
  const text = html`<span>${sentence}${isNew && html` <em class="new">${layout.text('consent.new')}</em>`}${
    isOptional &&
    includes.length > 0 &&
    html`<small class="fact">${layout.text('consent.includes', { sentences: includes.join(' · ') })}</small>`
  }</span>`;
  return isOptional
    ? html`<li><label class="power">${accessIcon(access)}${text}<input type="checkbox" role="switch" name="scope" value="${scope}"${isOn && html` checked`}></label></li>`
    : html`<li>${accessIcon(access)}${text}${hiddenFields({ scope })}</li>`;
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

/** Who verified the app. A host verifies only itself: the name is still the app's own choice. */
function publisher(layout: Layout, { verifiedBy, registeredAt, clientId, now }: ConsentPage): Markup {
  if (verifiedBy === 'operator')
    return layout.say('consent.by-operator', { operator: html`<bdi>${layout.serverName}</bdi>` });
  if (verifiedBy !== 'unverified') return layout.say('consent.by-host', { host: code(verifiedBy.host) });
  // Two apps may have the same name: the registration tells them apart.
  const registration =
    registeredAt !== null &&
    html` ${layout.say('consent.registered', { time: timeAgo(layout, registeredAt, now), id: code(shortIdOf(clientId)) })}`;
  return html`${layout.say('consent.unverified', {})}${registration}`;
}

/** The end of a client identifier: enough to tell two apps of the same name apart. */
export function shortIdOf(clientId: string): string {
  return clientId.slice(-6);
}

/**
 * The warning that a user needs: `here`, any local program could impersonate the app that the user connects for the first time;
 * `elsewhere`, the redirect goes to another host than that of the app's metadata document.
 */
export function findConsentWarning({
  verifiedBy,
  returnTo,
  redirectsElsewhere: isElsewhere,
  isFirstUse,
}: Pick<ConsentPage, 'verifiedBy' | 'returnTo' | 'redirectsElsewhere' | 'isFirstUse'>):
  | 'here'
  | 'elsewhere'
  | null {
  if (verifiedBy === 'operator') return null;
  // Warnings that are shown every time are not read.
  if (returnTo.kind !== 'https') return isFirstUse ? 'here' : null;
  return isElsewhere ? 'elsewhere' : null;
}

function warningNote(layout: Layout, page: ConsentPage): Markup {
  const { verifiedBy, returnTo } = page;
  const about = findConsentWarning(page);
  if (about === 'here') return html`<p class="note">${layout.text('consent.warn-here')}</p>`;
  return about === 'elsewhere' && typeof verifiedBy === 'object'
    ? html`<p class="note">${layout.say('consent.warn-elsewhere', { host: code(verifiedBy.host), target: code(returnTo.display) })}</p>`
    : html``;
}
