/** The two fields in which somebody chooses a password. */
import { html } from 'hono/html';
import { LONGEST_PASSWORD, SHORTEST_PASSWORD } from '../accounts/password-rules.ts';
import { type Frame, field } from './layout.ts';
import type { Markup } from './markup.ts';
import type { TextName } from './texts/texts.ts';

export interface PasswordFields {
  /** What is wrong with each. */
  readonly wrong: { readonly password: TextName | null; readonly passwordAgain: TextName | null };
  /** Whether the first of them is where the page begins. */
  readonly first: boolean;
  /** What the first of them is called; a password when left out. */
  readonly label?: TextName;
}

export function passwordFields(
  frame: Frame,
  { wrong, first, label = 'field.password' }: PasswordFields,
): Markup {
  const lengths = { least: SHORTEST_PASSWORD, most: LONGEST_PASSWORD };
  const say = (name: TextName | null) => (name === null ? null : frame.text(name, lengths));
  return html`${field({
    name: 'password',
    type: 'password',
    label: frame.text(label),
    autocomplete: 'new-password',
    hint: frame.text('password.hint', lengths),
    wrong: say(wrong.password),
    focus: first && wrong.passwordAgain === null,
  })}
${field({
  name: 'password_again',
  type: 'password',
  label: frame.text('password.again'),
  autocomplete: 'new-password',
  wrong: say(wrong.passwordAgain),
  focus: wrong.passwordAgain !== null && wrong.password === null,
})}`;
}
