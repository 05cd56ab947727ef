/** The two fields in which somebody chooses a password. */
import { html } from 'hono/html';
import { field, type Markup } from './layout.ts';

export interface PasswordFields {
  readonly shortest: number;
  /** What is wrong with each, in words. */
  readonly wrong: { readonly password: string | null; readonly passwordAgain: string | null };
  /** Whether the first of them is where the page begins. */
  readonly first: boolean;
}

export function passwordFields({ shortest, wrong, first }: PasswordFields): Markup {
  return html`${field({
    name: 'password',
    type: 'password',
    label: 'Password',
    autocomplete: 'new-password',
    hint: `At least ${shortest} characters. A few words in a row do well.`,
    wrong: wrong.password,
    focus: first && wrong.passwordAgain === null,
  })}
${field({
  name: 'password_again',
  type: 'password',
  label: 'The same password again',
  autocomplete: 'new-password',
  wrong: wrong.passwordAgain,
  focus: wrong.passwordAgain !== null && wrong.password === null,
})}`;
}
