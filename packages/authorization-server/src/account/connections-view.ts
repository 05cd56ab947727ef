/** Views of the connections page: the list of grants, and the question before revoking. */
import { html } from 'hono/html';
import { accountPaths, accountTabs, statusMessage } from '../ui/account-tabs.ts';
import { hiddenFields, keyIcon, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { dateAndTime, describeDuration, timeAgo } from '../ui/times.ts';

/** A grant as users see it: a connection of an app. */
export interface ListedGrant {
  readonly id: string;
  readonly appName: string;
  readonly server: { readonly name: string; readonly address: string };
  /** A sentence for each scope. */
  readonly permissions: readonly string[];
  /** Epoch seconds. */
  readonly allowedAt: number;
  readonly lastUsedAt: number;
  readonly lastUsedFrom: string | null;
  /** Seconds until the protected server notices a revocation; 0: immediately. */
  readonly revocationDelay: number;
  /** The linked identity whose tokens it uses; `null`: none. */
  readonly identityProvider: LinkedProvider | null;
}

/** An identity provider whose tokens a grant depends on. They are revoked with it. */
interface LinkedProvider {
  /** As users know the identity provider. */
  readonly name: string;
  /** The account name there; `null`: unknown. */
  readonly as: string | null;
  /** Scopes of the identity provider. */
  readonly scopes: readonly string[];
}

export interface ConnectionsPage {
  readonly email: string;
  readonly connections: readonly ListedGrant[];
  /** Epoch seconds. */
  readonly now: number;
  readonly ended: 'one' | 'all' | null;
}

export function connectionsPage(layout: Layout, page: ConnectionsPage): Markup {
  const { connections } = page;
  return renderPage(
    layout,
    layout.text('tabs.connections'),
    html`${accountTabs(layout, 'connections')}
<div class="head">
<h1>${layout.text('connections.heading')}</h1>
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })}</p>
</div>
${statusMessage(page.ended === null ? null : layout.text(`connections.ended.${page.ended}`))}
${connections.length === 0 ? html`<p>${layout.text('connections.none')}</p>` : html`<ul class="rows cards">${connections.map((one) => row(layout, one, page.now, hasLookalike(one, connections)))}</ul>`}
${connections.length > 1 && html`<p class="apart"><a class="button grave" href="/connections/end">${layout.text('connections.end-all')}</a></p>`}`,
  );
}

/** Whether another connection looks the same up to the minute, so that users need seconds to tell them apart. */
function hasLookalike(one: ListedGrant, all: readonly ListedGrant[]): boolean {
  const minuteOf = ({ allowedAt: since }: ListedGrant) => Math.floor(since / 60);
  return all.some(
    (other) =>
      other.id !== one.id &&
      other.appName === one.appName &&
      other.server.address === one.server.address &&
      minuteOf(other) === minuteOf(one),
  );
}

function row(layout: Layout, connection: ListedGrant, now: number, isExact: boolean): Markup {
  const { id, appName, lastUsedFrom } = connection;
  const time = timeAgo(layout, connection.lastUsedAt, now);
  return html`<li class="row">
<div>
<h2 class="name"><bdi>${appName}</bdi></h2>
<p class="fact">${layout.say('connections.on', { server: html`<bdi>${connection.server.name}</bdi>` })} · <code>${connection.server.address}</code></p>
</div>
${permissionList(connection)}
${connection.identityProvider !== null && html`<p class="fact">${describeLinkedProvider(layout, connection.identityProvider)}</p>`}
<p class="fact">${
    lastUsedFrom === null
      ? layout.say('connections.used', { time })
      : layout.say('connections.used-from', { time, address: html`<code>${lastUsedFrom}</code>` })
  } · ${layout.say('connections.allowed-on', { time: dateAndTime(layout, connection.allowedAt, isExact) })}</p>
<a class="button" href="/connections/end?connection=${encodeURIComponent(id)}" aria-label="${layout.text('connections.end-of', { app: appName })}">${layout.text('connections.end')}</a>
</li>`;
}

function describeLinkedProvider(layout: Layout, { name, as, scopes }: LinkedProvider): Markup {
  const provider = html`<bdi>${name}</bdi>`;
  const sentence =
    as === null
      ? layout.say('connections.provider-unnamed', { provider })
      : layout.say('connections.provider', { provider, account: html`<bdi>${as}</bdi>` });
  const rights = html`${scopes.map((scope, index) => html`${index > 0 && ', '}<code>${scope}</code>`)}`;
  return html`${sentence}${scopes.length > 0 && html` · ${layout.say('connections.provider-scopes', { rights })}`}`;
}

/** Distinct names of identity providers. */
function identityProvidersOf(connections: readonly ListedGrant[]): readonly string[] {
  return [
    ...new Set(
      connections.flatMap(({ identityProvider }) =>
        identityProvider === null ? [] : [identityProvider.name],
      ),
    ),
  ];
}

function permissionList({ permissions: powers }: ListedGrant): Markup {
  return html`<ul class="powers">${powers.map((power) => html`<li>${keyIcon}<span>${power}</span></li>`)}</ul>`;
}

export interface RevokePage {
  /** What is to be revoked. */
  readonly connections: readonly ListedGrant[];
  readonly all: boolean;
  readonly token: string;
}

/** Asks before revoking, and says what ends and when. */
export function revokePage(layout: Layout, page: RevokePage): Markup {
  const { connections, all } = page;
  const [first] = connections;
  const id = all || first === undefined ? null : first.id;
  return renderPage(
    layout,
    layout.text('connections.end'),
    html`<form class="stack once" method="post" action="/connections/end">
${hiddenFields({ token: page.token, connection: id, all: id === null ? 'yes' : null })}
<div class="head">
<h1>${all || first === undefined ? layout.text('end.all-heading') : layout.say('end.heading', { app: html`<bdi>${first.appName}</bdi>` })}</h1>
<p>${layout.text(all ? 'end.all-ask' : 'end.ask')}</p>
</div>
${
  all
    ? html`<ul class="plain">${connections.map((one) => html`<li><bdi>${one.appName}</bdi> <span class="fact">${layout.say('connections.on', { server: html`<bdi>${one.server.name}</bdi>` })}</span></li>`)}</ul>`
    : connections.map(
        (one) =>
          html`<p class="fact">${layout.say('end.allowed-on', { time: dateAndTime(layout, one.allowedAt, true) })}</p>
<section><h2>${layout.say('end.permissions', { address: html`<code>${one.server.address}</code>` })}</h2>${permissionList(one)}</section>`,
      )
}
${revocationEffects(layout, connections)}
<div class="answers">
<a class="button" href="${accountPaths.connections}">${layout.text('consent.deny')}</a>
<button class="button danger">${layout.text(all ? 'end.submit-all' : 'end.submit')}</button>
</div>
</form>`,
  );
}

/** Says when a revocation takes effect, also at identity providers. */
export function revocationEffects(layout: Layout, connections: readonly ListedGrant[]): Markup {
  return html`<p class="fact">${revocationDelayText(layout, Math.max(0, ...connections.map(({ revocationDelay: noticedWithin }) => noticedWithin)))}</p>
${identityProvidersOf(connections).map(
  (name) => html`<p class="fact">${layout.say('end.provider', { provider: html`<bdi>${name}</bdi>` })}</p>`,
)}`;
}

function revocationDelayText(layout: Layout, seconds: number): string {
  if (seconds === 0) return layout.text('end.at-once');
  return layout.text('end.within', { time: describeDuration(seconds, layout.language) });
}
