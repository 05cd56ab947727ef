/** The pages of links by mail: the address that one is sent to, and the page behind a sign-in link. */
import { html } from 'hono/html';
import { describePurpose, type LoginPurpose } from '../login/login-view.ts';
import { formField, hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';

/** What a requested link is for: a forgotten password, or a sign-in without one. */
export type LinkPurpose = 'forgotten' | 'link';

interface LinkRequestPage {
  readonly purpose: LinkPurpose;
  /** Hidden fields that identify the login target. */
  readonly fields: Readonly<Record<string, string>>;
  readonly token: string;
  /** Typed before. */
  readonly email: string;
  readonly error: string | null;
  /** The login page. */
  readonly restartPath: string;
}

const HEADINGS = { forgotten: 'forgotten.heading', link: 'sign-in.by-link' } as const;

export function linkRequestPage(layout: Layout, page: LinkRequestPage): Markup {
  const { purpose, fields, token, email, error, restartPath } = page;
  const heading = layout.text(HEADINGS[purpose]);
  const path = `/login/${purpose}`;
  return renderPage(
    layout,
    heading,
    html`<div class="head">
<h1>${heading}</h1>
<p>${layout.text(purpose === 'link' ? 'sign-in.by-link-why' : 'forgotten.by-mail')}</p>
</div>
<form class="stack once" method="post" action="${path}">
${hiddenFields({ ...fields, token })}
<div class="fields">
${formField({ name: 'email', type: 'email', label: layout.text('field.email'), autocomplete: 'username', value: email, error, focus: true })}
</div>
<button class="button main">${layout.text('forgotten.send')}</button>
</form>
<a class="link fact" href="${restartPath}">${layout.text('forgotten.back')}</a>`,
    `${path}?${new URLSearchParams(fields)}`,
  );
}

/** The page behind a sign-in link: programs that check mail open it, too, so only its form signs in. */
export function signInLinkPage(layout: Layout, token: string, purpose: LoginPurpose): Markup {
  return renderPage(
    layout,
    layout.text('sign-in.title'),
    html`<div class="head">
<h1>${layout.text('sign-in.title')}</h1>
<p>${describePurpose(layout, purpose)}</p>
</div>
<form class="stack once" method="post" action="/login/link/open">
${hiddenFields({ token })}
<button class="button main">${layout.text('sign-in.submit')}</button>
</form>`,
    `/login/link/open?${new URLSearchParams({ token })}`,
  );
}
