/** The pages of a server's first start: making the first account, and what comes then. */
import { html } from 'hono/html';
import { type Frame, field, hidden, layout, type Markup } from './layout.ts';
import { passwordFields } from './password-fields.ts';

export interface SetupPage {
  /** The token of the link. */
  readonly token: string;
  readonly email: string;
  readonly shortestPassword: number;
  /** What is wrong with each field, in words. */
  readonly wrong: SetupFaults;
}

export interface SetupFaults {
  readonly email: string | null;
  readonly password: string | null;
  readonly passwordAgain: string | null;
}

export function setupPage(frame: Frame, page: SetupPage): Markup {
  const { wrong } = page;
  const failed = Object.values(wrong).some((fault) => fault !== null);
  return layout(
    frame,
    failed ? 'Not created yet' : 'Create the first account',
    html`<div class="head">
<h1>Create the first account</h1>
<p>With it you decide which apps may use what this server protects.</p>
</div>
<form class="stack once" method="post" action="/setup">
${hidden({ token: page.token })}
<div class="fields">
${field({
  name: 'email',
  type: 'email',
  label: 'Email',
  autocomplete: 'username',
  value: page.email,
  wrong: wrong.email,
  focus: !failed || wrong.email !== null,
})}
${passwordFields({
  shortest: page.shortestPassword,
  wrong,
  first: failed && wrong.email === null,
})}
</div>
<button class="button main">Create account</button>
</form>`,
  );
}

export interface ReadyPage {
  readonly email: string;
  /** For the form that signs out. */
  readonly token: string;
}

export function readyPage(frame: Frame, page: ReadyPage): Markup {
  return layout(
    frame,
    'Account ready',
    html`<div class="head">
<h1>Your account is ready</h1>
<p>Now connect an app. It will bring you here and ask for your permission. Later you see on the page <a href="/connections">Connections</a> what has access.</p>
</div>
<form class="fact" method="post" action="/logout">
${hidden({ token: page.token })}
Signed in as <bdi>${page.email}</bdi> · <button class="link">sign out</button>
</form>`,
  );
}
