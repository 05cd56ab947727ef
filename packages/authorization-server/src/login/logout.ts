/** Logout: a POST with the session's CSRF token; a GET only asks for confirmation, so that no link from another site logs a user out. */
import { html } from 'hono/html';
import type { PageContext, PageRouter } from '../authorization/page-context.ts';
import type { Route } from '../http/router.ts';
import { accountPaths } from '../ui/account-tabs.ts';
import { hiddenFields, type Layout, renderPage } from '../ui/layout.ts';
import type { Markup } from '../ui/markup.ts';
import { messagePage } from '../ui/message-page.ts';
import { type PageOptions, respondPage } from '../ui/respond-page.ts';

const PATH = '/logout';

export function createLogoutRoutes(pages: PageRouter): readonly Route[] {
  const { csrfTokens, sessions } = pages;
  const showSignedOut = ({ layout }: PageContext, options: PageOptions) => {
    const heading = layout.text('signed-out.heading');
    const action = { label: layout.text('sign-in.title'), href: accountPaths.account };
    const sentences = [layout.text('signed-out.close')];
    return respondPage(messagePage(layout, { isDone: true, heading, sentences, action }), options);
  };
  return [
    pages.route('GET', PATH, async (context, request) => {
      const user = await sessions.find(request);
      if (user === null) return showSignedOut(context, {});
      const token = csrfTokens.issue('logout', user.sessionHash);
      return respondPage(logoutPage(context.layout, { email: user.account.email, token }));
    }),

    pages.form(PATH, async ({ context, request, form }) => {
      const user = await sessions.find(request);
      if (user !== null && !csrfTokens.matches(form.one('token'), 'logout', user.sessionHash))
        return context.errors.rejectForm(PATH, PATH);
      return showSignedOut(context, { cookies: [await sessions.end(request)] });
    }),
  ];
}

interface LogoutPage {
  readonly email: string;
  readonly token: string;
}

function logoutPage(layout: Layout, { email, token }: LogoutPage): Markup {
  return renderPage(
    layout,
    layout.text('account.sign-out'),
    html`<form class="stack once" method="post" action="/logout">
${hiddenFields({ token })}
<div class="head">
<h1>${layout.text('sign-out.heading')}</h1>
<p class="fact">${layout.say('consent.signed-in', { email: html`<bdi>${email}</bdi>` })}</p>
<p>${layout.text('sign-out.why')}</p>
</div>
<div class="answers">
<a class="button" href="${accountPaths.account}">${layout.text('consent.deny')}</a>
<button class="button main">${layout.text('account.sign-out')}</button>
</div>
</form>`,
  );
}
