/** Views of the connections page: the grants of a user by app, and the question before revoking. */
import { html } from 'hono/html';
import { shortIdOf } from '../consent/consent-view.ts';
import { accountPaths, accountTabs, PERSONAL_ACCESS_TOKEN_PATH, statusMessage } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, pageScript, renderPage } from '../ui/layout.ts';
import { appMark } from '../ui/marks.ts';
import type { Markup } from '../ui/markup.ts';
import { dateAndTime, describeDuration, timeAgo } from '../ui/times.ts';

/** A grant as users see it: a connection of an app. */
export interface ListedGrant {
  readonly id: string;
  readonly clientId: string;
  readonly appName: string;
  /** Path of its logo; `null`: a monogram. */
  readonly logoPath: string | null;
  /** Who verified the app's name. */
  readonly publisher:
    | 'operator'
    | 'verified'
    | { readonly host: string }
    | 'unverified'
    | PersonalAccessToken;
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
  /** The issuer by whose assertions an organization manages it; `null`: the user does. */
  readonly managedBy: string | null;
  /** Connected accounts that it uses. */
  readonly connected: readonly LinkedProvider[];
}

/** A token that the user created. */
interface PersonalAccessToken {
  /** Epoch seconds. */
  readonly tokenUntil: number;
}

/** An identity provider whose tokens a grant depends on, or where it has a connected account. They are revoked with it. */
export interface LinkedProvider {
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
  /** Path of the next page; `null`: there is none. */
  readonly nextPath: string | null;
  /** Whether this is not the first page. */
  readonly isLater: boolean;
  /** Empty: all connections. */
  readonly search: string;
  /** Epoch seconds. */
  readonly now: number;
  readonly ended: 'one' | 'all' | null;
  /** Whether the user can create personal access tokens. */
  readonly createsTokens: boolean;
}

/** From this number of connections on, a page has a search field. */
const WORTH_SEARCHING = 10;

export function connectionsPage(layout: Layout, page: ConnectionsPage): Markup {
  const { connections, search, nextPath, isLater } = page;
  const isAll = search === '' && !isLater;
  const hasSearch = !isAll || nextPath !== null || connections.length >= WORTH_SEARCHING;
  return renderPage(
    layout,
    layout.text('tabs.connections'),
    html`<div class="head">
<h1>${layout.text('connections.heading')}</h1>
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })}</p>
</div>
${accountTabs(layout, 'connections')}
${statusMessage(page.ended === null ? null : layout.text(`connections.ended.${page.ended}`))}
${hasSearch && searchForm(layout, search)}
${connections.length === 0 ? html`<p>${layout.text(isAll ? 'connections.none' : 'connections.not-found')}</p>` : html`<ul class="apps">${groupByApp(connections).map((group) => appRow(layout, group, page.now))}</ul>`}
${(nextPath !== null || !isAll) && pageLinks(layout, page)}
${page.createsTokens && html`<p class="primary"><a class="button main" href="${PERSONAL_ACCESS_TOKEN_PATH}">${layout.text('tokens.new')}</a></p>`}
${isAll && connections.length > 1 && removeAllSection(layout)}
${pageScript(layout)}`,
    undefined,
    'wide',
  );
}

function removeAllSection(layout: Layout): Markup {
  return html`<section class="panel destructive">
<h2>${layout.text('connections.end-all')}</h2>
<p class="fact">${layout.text('connections.end-all-why')}</p>
<a class="button grave" href="/connections/end">${layout.text('connections.end-all')}</a>
</section>`;
}

function searchForm(layout: Layout, search: string): Markup {
  return html`<form class="search" method="get" action="${accountPaths.connections}" role="search">
<input type="search" name="q" value="${search}" maxlength="100" aria-label="${layout.text('connections.search')}" placeholder="${layout.text('connections.search')}">
<button class="button">${layout.text('connections.find')}</button>
</form>`;
}

function pageLinks(layout: Layout, { nextPath, isLater, search }: ConnectionsPage): Markup {
  return html`<p class="beside">${
    isLater || search !== ''
      ? html`<a href="${accountPaths.connections}">${layout.text('connections.all')}</a>`
      : html`<span></span>`
  }${nextPath !== null && html`<a rel="next" href="${nextPath}">${layout.text('connections.more')}</a>`}</p>`;
}

/** Connections of apps with the same name and publisher, in the order of the first. */
function groupByApp(connections: readonly ListedGrant[]): readonly (readonly ListedGrant[])[] {
  const groups = Map.groupBy(connections, ({ appName, publisher }) => JSON.stringify([appName, publisher]));
  return [...groups.values()];
}

function markOf({ appName, publisher, clientId, logoPath }: ListedGrant): Markup {
  return appMark(
    appName,
    typeof publisher === 'object' && 'host' in publisher ? publisher.host : clientId,
    logoPath,
  );
}

/** One connection opens to its details; several of the same app open to one line each. */
function appRow(layout: Layout, group: readonly ListedGrant[], now: number): Markup {
  const [first] = group;
  if (first === undefined) return html``;
  if (group.length === 1) return html`<li>${connectionDetails(layout, first, group, now)}</li>`;
  const time = timeAgo(layout, first.lastUsedAt, now);
  return html`<li><details class="app">
<summary>${markOf(first)}<span><strong class="name"><bdi>${first.appName}</bdi></strong>
<span class="fact">${layout.text('connections.number', { number: group.length })} · ${layout.say('connections.used', { time })}</span></span></summary>
<ul class="apps">${group.map((one) => html`<li>${connectionDetails(layout, one, group, now)}</li>`)}</ul>
</details></li>`;
}

/** Whether another connection looks the same up to the minute, so that users need seconds to tell them apart. */
function hasLookalike(one: ListedGrant, group: readonly ListedGrant[]): boolean {
  const minuteOf = ({ allowedAt: since }: ListedGrant) => Math.floor(since / 60);
  return group.some(
    (other) =>
      other.id !== one.id && other.server.address === one.server.address && minuteOf(other) === minuteOf(one),
  );
}

function connectionDetails(
  layout: Layout,
  connection: ListedGrant,
  group: readonly ListedGrant[],
  now: number,
): Markup {
  const { id, appName, server, lastUsedFrom, allowedAt, lastUsedAt, permissions } = connection;
  const used = layout.say('connections.used', { time: timeAgo(layout, lastUsedAt, now) });
  const from =
    lastUsedFrom !== null &&
    html` ${layout.say('account.from', { address: html`<code>${lastUsedFrom}</code>` })}`;
  return html`<details class="app">
<summary>${markOf(connection)}<span><strong class="name"><bdi>${appName}</bdi></strong>
<span class="fact">${layout.say('connections.on', { server: html`<bdi>${server.name}</bdi>` })} · ${used}${from}</span></span></summary>
<div class="opened">
<p class="fact"><code>${server.address}</code> · ${publisher(layout, connection)}</p>
${permissionList(permissions)}
${connection.managedBy !== null && html`<p class="fact">${layout.say('connections.managed', { issuer: html`<code>${connection.managedBy}</code>` })}</p>`}
${connection.identityProvider !== null && html`<p class="fact">${describeLinkedProvider(layout, connection.identityProvider)}</p>`}
${connection.connected.map((one) => html`<p class="fact">${describeLinkedProvider(layout, one)}</p>`)}
<p class="fact">${layout.say('connections.allowed-on', { time: dateAndTime(layout, allowedAt, hasLookalike(connection, group)) })}</p>
<a class="button" href="/connections/end?connection=${encodeURIComponent(id)}" aria-label="${layout.text('connections.end-of', { app: appName })}">${layout.text('connections.end')}</a>
</div>
</details>`;
}

function publisher(layout: Layout, { publisher: by, clientId }: ListedGrant): Markup {
  if (by === 'operator' || by === 'verified') return html`${layout.text(`connections.by-${by}`)}`;
  if (typeof by === 'object' && 'tokenUntil' in by) {
    return layout.say('tokens.listed', { time: dateAndTime(layout, by.tokenUntil) });
  }
  return by === 'unverified'
    ? layout.say('connections.unverified', { id: html`<code>${shortIdOf(clientId)}</code>` })
    : layout.say('connections.by-host', { host: html`<code>${by.host}</code>` });
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

/** Distinct names of identity providers and of those where accounts are connected. */
function identityProvidersOf(connections: readonly ListedGrant[]): readonly string[] {
  return [
    ...new Set(
      connections.flatMap(({ identityProvider, connected }) =>
        [identityProvider, ...connected].flatMap((one) => (one === null ? [] : [one.name])),
      ),
    ),
  ];
}

function permissionList(permissions: readonly string[]): Markup {
  return html`<ul class="permissions">${permissions.map((sentence) => html`<li>${sentence}</li>`)}</ul>`;
}

export interface RevokePage {
  /** What is to be revoked: one connection, or the first page of all. */
  readonly connections: readonly ListedGrant[];
  /** Whether there are more connections than these. */
  readonly hasMore: boolean;
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
    ? connectionNames(layout, page)
    : connections.map(
        (one) =>
          html`<p class="fact">${layout.say('end.allowed-on', { time: dateAndTime(layout, one.allowedAt, true) })}</p>
<section class="head"><h2>${layout.say('end.permissions', { address: html`<code>${one.server.address}</code>` })}</h2>${permissionList(one.permissions)}</section>`,
      )
}
${revocationEffects(layout, connections)}
<div class="answers">
<a class="button" href="${accountPaths.connections}">${layout.text('consent.deny')}</a>
<button class="button danger">${layout.text(all ? 'end.submit-all' : 'end.submit')}</button>
</div>
</form>
${pageScript(layout)}`,
  );
}

/** The connections that end, by name: those of the same app on the same server in one line. */
export function connectionNames(
  layout: Layout,
  { connections, hasMore }: Pick<RevokePage, 'connections' | 'hasMore'>,
): Markup {
  const lines = Map.groupBy(connections, ({ appName, server }) => JSON.stringify([appName, server.name]));
  return html`<ul class="plain">${[...lines.values()].map(
    ([one, ...more]) =>
      one !== undefined &&
      html`<li><bdi>${one.appName}</bdi> <span class="fact">${layout.say('connections.on', { server: html`<bdi>${one.server.name}</bdi>` })}${more.length > 0 && html` · ${layout.text('connections.number', { number: more.length + 1 })}`}</span></li>`,
  )}${hasMore && html`<li class="fact">${layout.text('end.more')}</li>`}</ul>`;
}

/** Says when a revocation takes effect, also at identity providers. */
export function revocationEffects(layout: Layout, connections: readonly ListedGrant[]): Markup {
  const names = identityProvidersOf(connections);
  const delay = Math.max(0, ...connections.map(({ revocationDelay }) => revocationDelay));
  const time = describeDuration(delay, layout.language);
  return html`<p class="fact">${delay === 0 ? layout.text('end.at-once') : layout.text('end.within', { time })}</p>
${
  names.length > 0 &&
  html`<p class="fact">${names.map(
    (name, index) =>
      html`${index > 0 && ' '}${layout.say('end.provider', { provider: html`<bdi>${name}</bdi>` })}`,
  )}</p>`
}`;
}
