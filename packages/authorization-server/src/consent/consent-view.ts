/** The consent page: the app, the requested permissions, the account, the redirect target, and the decision. */
import type { RedirectTarget } from '@portcullis/protocol';
import { html } from 'hono/html';
import type { Workspace } from '../authorization/options.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import { appMark, cautionIcon, monogram } from '../ui/marks.ts';
import type { Markup } from '../ui/markup.ts';
import { timeAgo } from '../ui/times.ts';
import {
  type ConsentPermissions,
  type NamedServer,
  neededConnections,
  permissions,
  sharedClaims,
  upstreamScopes,
  withheldPermissions,
} from './permissions-view.ts';

export interface ConsentPage extends ConsentPermissions {
  readonly appName: string;
  /** Path of its logo; `null`: a monogram. */
  readonly logoPath: string | null;
  readonly clientId: string;
  /** Epoch seconds; `null`: the app did not register itself. */
  readonly registeredAt: number | null;
  /** Who verified the app's name: the operator who set it up (`operator`) or looked at it (`verified`), or the host of its metadata document. */
  readonly verifiedBy: 'operator' | 'verified' | { readonly host: string } | 'unverified';
  /** Whether the user has no connection of this app yet. */
  readonly isFirstUse: boolean;
  readonly workspace: WorkspaceChoice;
  /** Path for choosing another workspace; `null`: none. */
  readonly othersPath: string | null;
  /** The account that the app will act for: of the session, or of the identity provider. `hasOthers`: there is another way to
   * log in. */
  readonly account: { readonly email: string } | { readonly provider: string; readonly hasOthers: boolean };
  /** Where the browser goes afterwards. */
  readonly returnTo: Pick<RedirectTarget, 'kind' | 'display'>;
  /** Whether the redirect URI is on another host than the app's metadata document. */
  readonly redirectsElsewhere: boolean;
  /** Epoch seconds. */
  readonly now: number;
  /** Hidden form fields. */
  readonly fields: Readonly<Record<string, string | null>>;
}

/** The chosen workspace, or the ones to choose from. */
type WorkspaceChoice = { readonly chosen: Workspace } | { readonly choices: readonly Workspace[] };

/** A protected server with permissions, a sentence each. */
export interface DescribedResource extends NamedServer {
  readonly permissions: readonly string[];
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
<p class="fact">${account(layout, page)}</p>
${aboutApp(layout, page)}
</div>
${warningNote(layout, page)}
${workspace(layout, page)}
${permissions(layout, page)}
${withheldPermissions(layout, page)}
${sharedClaims(layout, page)}
${upstreamScopes(layout, page)}
${neededConnections(layout, page)}
<div class="foot answers">
<button class="button" name="decision" value="deny">${layout.text('consent.deny')}</button>
<button class="button main" name="decision" value="allow">${layout.text('consent.allow')}</button>
</div>
</form>
<form id="${SWITCH_FORM}" hidden method="post" action="/consent">${hiddenFields(page.fields)}</form>`,
    `/consent?${transactionQuery(page)}`,
  );
}

function transactionQuery({ fields: { flow, afresh } }: ConsentPage): URLSearchParams {
  return new URLSearchParams({ ...(flow != null && { flow }), ...(afresh != null && { afresh }) });
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

/** Who the app is and where the browser goes afterwards: in one sentence, and in whole sentences on demand. */
function aboutApp(layout: Layout, page: ConsentPage): Markup {
  const { verifiedBy, returnTo } = page;
  const target = code(returnTo.display);
  const who =
    typeof verifiedBy === 'object'
      ? layout.say('consent.fact.host', { host: code(verifiedBy.host) })
      : layout.text(`consent.fact.${verifiedBy}`);
  const isImpersonable = verifiedBy !== 'operator' && returnTo.kind !== 'https';
  return html`<details class="about">
<summary class="fact">${who} · ${layout.say(`consent.fact.returns.${returnTo.kind}`, { target })} <span class="link">${layout.text('consent.about')}</span></summary>
<div class="head fact">
<p>${publisher(layout, page)}</p>
<p>${layout.say(`consent.return.${returnTo.kind}`, { target })}</p>
${isImpersonable && html`<p>${layout.text('consent.impersonation')}</p>`}
</div>
</details>`;
}

/** Who verified the app. A host verifies only itself: the name is still the app's own choice. */
function publisher(layout: Layout, { verifiedBy, registeredAt, clientId, now }: ConsentPage): Markup {
  if (verifiedBy === 'operator' || verifiedBy === 'verified')
    return layout.say(`consent.by-${verifiedBy}`, { operator: html`<bdi>${layout.serverName}</bdi>` });
  if (verifiedBy !== 'unverified') return layout.say('consent.by-host', { host: code(verifiedBy.host) });
  // Two apps may have the same name: the registration distinguishes them.
  const registration =
    registeredAt !== null &&
    html` ${layout.say('consent.registered', { time: timeAgo(layout, registeredAt, now), id: code(shortIdOf(clientId)) })}`;
  return html`${layout.say('consent.unverified', {})}${registration}`;
}

/** The end of a client identifier: enough to distinguish two apps of the same name. */
export function shortIdOf(clientId: string): string {
  return clientId.slice(-6);
}

/**
 * The warning that a user needs: any local program could impersonate the app that the user connects for the first time, or the
 * redirect goes to another host than that of the app's metadata document.
 */
function warningNote(
  layout: Layout,
  { verifiedBy, returnTo, redirectsElsewhere, isFirstUse }: ConsentPage,
): Markup {
  if (verifiedBy === 'operator') return html``;
  // Also of a verified app: what was verified is its metadata, which any program on the device can use. Warnings that are shown every
  // time are not read.
  if (returnTo.kind !== 'https')
    return html`${isFirstUse && html`<p class="caution">${cautionIcon}<span>${layout.text('consent.warn-here')}</span></p>`}`;
  return redirectsElsewhere && typeof verifiedBy === 'object'
    ? html`<p class="note">${layout.say('consent.warn-elsewhere', { host: code(verifiedBy.host), target: code(returnTo.display) })}</p>`
    : html``;
}
