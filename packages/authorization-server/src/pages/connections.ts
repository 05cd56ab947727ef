/** The pages about what has access to an account, and ending it. */
import { html } from 'hono/html';
import { definePage, type Page } from './define-page.ts';
import { type Frame, hidden, key, layout } from './layout.ts';
import type { Markup } from './markup.ts';
import { happened, homePaths, tabs } from './tabs.ts';
import { ago, duration, moment } from './times.ts';

/** One app with what it may do. */
export interface Connection {
  readonly id: string;
  readonly appName: string;
  readonly server: { readonly name: string; readonly place: string };
  /** A sentence each. */
  readonly powers: readonly string[];
  /** Epoch seconds. */
  readonly since: number;
  readonly lastUsedAt: number;
  readonly lastUsedFrom: string | null;
  /** Seconds until the server notices that access has ended; 0: at once. */
  readonly statusCheckInterval: number;
  /** Whose rights elsewhere it uses as well; `null`: nobody's. */
  readonly identityProvider: IdentityProviderBond | null;
}

/** What a third party gave for a connection. It ends with it. */
interface IdentityProviderBond {
  /** What people call the third party. */
  readonly name: string;
  /** What the account is called there; `null` when it did not say. */
  readonly as: string | null;
  /** In the third party's own words. */
  readonly scopes: readonly string[];
}

export interface ConnectionsPage {
  readonly email: string;
  readonly connections: readonly Connection[];
  /** Epoch seconds. */
  readonly now: number;
  readonly ended: 'one' | 'all' | null;
}

export const connectionsPage: Page<ConnectionsPage> = definePage('connections', renderConnections);

function renderConnections(frame: Frame, page: ConnectionsPage): Markup {
  const { connections } = page;
  return layout(
    frame,
    frame.text('tabs.connections'),
    html`${tabs(frame, 'connections')}
<div class="head">
<h1>${frame.text('connections.heading')}</h1>
<p class="fact">${frame.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })}</p>
</div>
${happened(page.ended === null ? null : frame.text(`connections.ended.${page.ended}`))}
${connections.length === 0 ? html`<p>${frame.text('connections.none')}</p>` : html`<ul class="rows cards">${connections.map((one) => row(frame, one, page.now, hasTwin(one, connections)))}</ul>`}
${connections.length > 1 && html`<p class="apart"><a class="button grave" href="/connections/end">${frame.text('connections.end-all')}</a></p>`}`,
  );
}

/** Whether another one reads the same as far as names and minutes go: a person has to see which is which before ending one. */
function hasTwin(one: Connection, all: readonly Connection[]): boolean {
  const minuteOf = ({ since }: Connection) => Math.floor(since / 60);
  return all.some(
    (other) =>
      other.id !== one.id &&
      other.appName === one.appName &&
      other.server.place === one.server.place &&
      minuteOf(other) === minuteOf(one),
  );
}

function row(frame: Frame, connection: Connection, now: number, isExact: boolean): Markup {
  const { id, appName, lastUsedFrom } = connection;
  const time = ago(frame, connection.lastUsedAt, now);
  return html`<li class="row">
<div>
<h2 class="name"><bdi>${appName}</bdi></h2>
<p class="fact">${frame.say('connections.on', { server: html`<bdi>${connection.server.name}</bdi>` })} · <code>${connection.server.place}</code></p>
</div>
${powersOf(connection)}
${connection.identityProvider !== null && html`<p class="fact">${bond(frame, connection.identityProvider)}</p>`}
<p class="fact">${
    lastUsedFrom === null
      ? frame.say('connections.used', { time })
      : frame.say('connections.used-from', { time, address: html`<code>${lastUsedFrom}</code>` })
  } · ${frame.say('connections.since', { moment: moment(frame, connection.since, isExact) })}</p>
<a class="button" href="/connections/end?connection=${encodeURIComponent(id)}" aria-label="${frame.text('connections.end-of', { app: appName })}">${frame.text('connections.end')}</a>
</li>`;
}

function bond(frame: Frame, { name, as, scopes }: IdentityProviderBond): Markup {
  const provider = html`<bdi>${name}</bdi>`;
  const sentence =
    as === null
      ? frame.say('connections.third-party-nameless', { provider })
      : frame.say('connections.third-party', { provider, account: html`<bdi>${as}</bdi>` });
  const rights = html`${scopes.map((scope, index) => html`${index > 0 && ', '}<code>${scope}</code>`)}`;
  return html`${sentence}${scopes.length > 0 && html` · ${frame.say('connections.third-party-rights', { rights })}`}`;
}

/** Each third party once. */
function identityProvidersOf(connections: readonly Connection[]): readonly string[] {
  return [
    ...new Set(
      connections.flatMap(({ identityProvider }) =>
        identityProvider === null ? [] : [identityProvider.name],
      ),
    ),
  ];
}

function powersOf({ powers }: Connection): Markup {
  return html`<ul class="powers">${powers.map((power) => html`<li>${key}<span>${power}</span></li>`)}</ul>`;
}

export interface EndPage {
  /** What would end; every connection when `all`. */
  readonly connections: readonly Connection[];
  readonly all: boolean;
  readonly token: string;
}

/** Asks once, and says what ends and when that is noticed. */
export const endPage: Page<EndPage> = definePage('end', renderEnd);

function renderEnd(frame: Frame, page: EndPage): Markup {
  const { connections, all } = page;
  const [first] = connections;
  const id = all || first === undefined ? null : first.id;
  return layout(
    frame,
    frame.text('connections.end'),
    html`<form class="stack once" method="post" action="/connections/end">
${hidden({ token: page.token, connection: id, all: id === null ? 'yes' : null })}
<div class="head">
<h1>${all || first === undefined ? frame.text('end.all-heading') : frame.say('end.heading', { app: html`<bdi>${first.appName}</bdi>` })}</h1>
<p>${frame.text(all ? 'end.all-ask' : 'end.ask')}</p>
</div>
${
  all
    ? html`<ul class="plain">${connections.map((one) => html`<li><bdi>${one.appName}</bdi> <span class="fact">${frame.say('connections.on', { server: html`<bdi>${one.server.name}</bdi>` })}</span></li>`)}</ul>`
    : connections.map(
        (one) =>
          html`<p class="fact">${frame.say('end.since', { moment: moment(frame, one.since, true) })}</p>
<section><h2>${frame.say('end.powers', { place: html`<code>${one.server.place}</code>` })}</h2>${powersOf(one)}</section>`,
      )
}
${endings(frame, connections)}
<div class="answers">
<a class="button" href="${homePaths.connections}">${frame.text('consent.deny')}</a>
<button class="button danger">${frame.text(all ? 'end.submit-all' : 'end.submit')}</button>
</div>
</form>`,
  );
}

/** When it is noticed that connections have ended, and what third parties gave for them. */
export function endings(frame: Frame, connections: readonly Connection[]): Markup {
  return html`<p class="fact">${boundSentence(frame, Math.max(0, ...connections.map(({ statusCheckInterval }) => statusCheckInterval)))}</p>
${identityProvidersOf(connections).map(
  (name) => html`<p class="fact">${frame.say('end.third-party', { provider: html`<bdi>${name}</bdi>` })}</p>`,
)}`;
}

function boundSentence(frame: Frame, seconds: number): string {
  if (seconds === 0) return frame.text('end.at-once');
  return frame.text('end.within', { time: duration(seconds, frame.language) });
}
