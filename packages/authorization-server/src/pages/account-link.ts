/** The pages behind links for owners of accounts: choosing how to sign in, for the first time or anew. */
import { html } from 'hono/html';
import { type Frame, hidden, layout, type Markup } from './layout.ts';
import { passkeyForm, passkeyScript } from './passkeys.ts';
import { type PasswordFields, passwordFields } from './password-fields.ts';

export interface AccountLinkPage {
  readonly purpose: 'invitation' | 'reset';
  /** The token of the link. */
  readonly token: string;
  readonly email: string;
  readonly shortestPassword: number;
  /** `null` when nothing was wrong. */
  readonly wrong: PasswordFields['wrong'] | null;
  /** What was wrong with a passkey. */
  readonly trouble: string | null;
  /** For the browser; `null` where there are no passkeys. */
  readonly passkeyOptions: Readonly<Record<string, unknown>> | null;
}

const WORDS = {
  invitation: {
    heading: 'Choose how to sign in',
    sentence: 'An account was made for you. With it you decide which apps may use what this server protects.',
    button: 'Create account',
  },
  reset: {
    heading: 'Choose a new way to sign in',
    sentence: 'You will be signed out everywhere else, and what let you in before will not work any more.',
    button: 'Save and sign in',
  },
} as const;

export function accountLinkPage(frame: Frame, page: AccountLinkPage): Markup {
  const { heading, sentence, button } = WORDS[page.purpose];
  return layout(
    frame,
    page.wrong === null && page.trouble === null ? heading : 'Not saved yet',
    html`<div class="head">
<h1>${heading}</h1>
<p>${sentence}</p>
</div>
${page.trouble !== null && html`<p class="wrong" role="alert">${page.trouble}</p>`}
<div class="ways">
<form class="stack once" method="post" action="/${page.purpose}">
${hidden({ token: page.token })}
<div class="fields">
<div class="field"><label for="email">Email</label>
<input id="email" type="email" autocomplete="username" value="${page.email}" readonly></div>
${passwordFields({
  shortest: page.shortestPassword,
  wrong: page.wrong ?? { password: null, passwordAgain: null },
  first: true,
})}
</div>
<button class="button main">${button}</button>
</form>
${
  page.passkeyOptions !== null &&
  passkeyForm({
    kind: 'create',
    action: `/${page.purpose}`,
    options: page.passkeyOptions,
    fields: { token: page.token },
    label: 'Use a passkey instead',
  })
}
</div>
${page.passkeyOptions !== null && passkeyScript}`,
  );
}
