/** Views of connecting an account at a backend: what it is for, and how it ended. */
import { html } from 'hono/html';
import { accountPaths } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { messagePage } from '../ui/message-page.ts';
import { CONNECT_PATH } from './links.ts';

export interface ConnectPage {
  readonly appName: string;
  readonly backend: { readonly name: string; readonly host: string };
  /** Scopes that the backend found missing; empty: those that it names. */
  readonly scopes: readonly string[];
  readonly email: string;
  readonly fields: Readonly<Record<string, string>>;
}

export function connectPage(layout: Layout, page: ConnectPage): Markup {
  const app = html`<strong><bdi>${page.appName}</bdi></strong>`;
  const backend = html`<bdi>${page.backend.name}</bdi>`;
  const rights = html`${page.scopes.map((scope, index) => html`${index > 0 && ', '}<code>${scope}</code>`)}`;
  return renderPage(
    layout,
    layout.text('connect.title', { backend: page.backend.name }),
    html`<form class="stack once" method="post" action="${CONNECT_PATH}">
${hiddenFields(page.fields)}
<div class="head">
<h1>${layout.say('connect.heading', { backend })}</h1>
<p>${layout.say('connect.why', { app, backend })}</p>
<p class="fact">${layout.say('connect.where', { host: html`<code>${page.backend.host}</code>` })}</p>
${page.scopes.length > 0 && html`<p class="fact">${layout.say('connect.scopes', { rights })}</p>`}
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${page.email}</bdi>` })}</p>
</div>
<div class="answers">
<a class="button" href="${accountPaths.connections}">${layout.text('consent.deny')}</a>
<button class="button main">${layout.text('connect.submit')}</button>
</div>
</form>`,
    CONNECT_PATH,
  );
}

/** What a user does who is signed in as another one. */
export function signOutAction(layout: Layout): { readonly label: string; readonly href: string } {
  return { label: layout.text('account.sign-out'), href: '/logout' };
}

/** The account is connected. */
export function connectedPage(layout: Layout, backend: string): Markup {
  return messagePage(layout, {
    isDone: true,
    heading: layout.text('connect.done', { backend }),
    sentences: [layout.text('connect.done-1')],
  });
}

/** Nothing was connected, and the link is still valid. */
export function backendErrorPage(layout: Layout, backend: string, issue: 'declined' | 'failed'): Markup {
  return messagePage(layout, {
    heading: layout.text('connect.not-done', { backend }),
    sentences: [layout.text(`connect.${issue}`, { backend })],
    action: { label: layout.text('message.try-again'), href: CONNECT_PATH },
  });
}
