/** The pages about what has access to an account, and ending it. */
import { html } from 'hono/html';
import { type Frame, hidden, key, layout, type Markup } from './layout.ts';
import { happened, homePaths, tabs } from './tabs.ts';
import { ago, day, duration } from './times.ts';

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
  readonly noticedWithin: number;
}

export interface ConnectionsPage {
  readonly email: string;
  readonly connections: readonly Connection[];
  /** Epoch seconds. */
  readonly now: number;
  readonly ended: 'one' | 'all' | null;
}

const ENDED = { one: 'Access has ended.', all: 'All access has ended.' } as const;

export function connectionsPage(frame: Frame, page: ConnectionsPage): Markup {
  const { connections } = page;
  return layout(
    frame,
    'Connections',
    html`${tabs('connections')}
<div class="head">
<h1>What has access</h1>
<p class="fact">Signed in as <bdi>${page.email}</bdi></p>
</div>
${happened(page.ended === null ? null : ENDED[page.ended])}
${connections.length === 0 ? nothing : html`<ul class="rows">${connections.map((one) => row(one, page.now))}</ul>`}
${connections.length > 1 && html`<p><a class="button" href="/connections/end">End all access</a></p>`}`,
  );
}

const nothing: Markup = html`<p>No app has access to your account. When you allow one, it stands here, and you can end its access at any time.</p>`;

function row(connection: Connection, now: number): Markup {
  const { id, appName, lastUsedFrom } = connection;
  return html`<li class="row">
<div>
<h2 class="name"><bdi>${appName}</bdi></h2>
<p class="fact">on <bdi>${connection.server.name}</bdi> · <code>${connection.server.place}</code></p>
</div>
${powersOf(connection)}
<p class="fact">Used ${ago(connection.lastUsedAt, now)}${lastUsedFrom !== null && html` from <code>${lastUsedFrom}</code>`} · allowed on ${day(connection.since)}</p>
<a class="button" href="/connections/end?connection=${encodeURIComponent(id)}" aria-label="End access of ${appName}">End access</a>
</li>`;
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
export function endPage(frame: Frame, page: EndPage): Markup {
  const { connections, all } = page;
  const [first] = connections;
  const id = all || first === undefined ? null : first.id;
  return layout(
    frame,
    'End access',
    html`<form class="stack once" method="post" action="/connections/end">
${hidden({ token: page.token, connection: id, all: id === null ? 'yes' : null })}
<div class="head">
<h1>${all || first === undefined ? 'End all access?' : html`End access of <bdi>${first.appName}</bdi>?`}</h1>
<p>${all ? 'These apps' : 'The app'} will have to ask you again.</p>
</div>
${
  all
    ? html`<ul class="plain">${connections.map((one) => html`<li><bdi>${one.appName}</bdi> <span class="fact">on <bdi>${one.server.name}</bdi></span></li>`)}</ul>`
    : connections.map(
        (one) =>
          html`<section><h2>On <code>${one.server.place}</code> it will no longer be able to</h2>${powersOf(one)}</section>`,
      )
}
<p class="fact">${boundSentence(Math.max(0, ...connections.map(({ noticedWithin }) => noticedWithin)))}</p>
<div class="answers">
<a class="button" href="${homePaths.connections}">Cancel</a>
<button class="button danger">${all ? 'End all' : 'End access'}</button>
</div>
</form>`,
  );
}

function boundSentence(seconds: number): string {
  if (seconds === 0) return 'It ends at once.';
  return `No new access is given from now on. What was given last can still work for up to ${duration(seconds)}.`;
}
