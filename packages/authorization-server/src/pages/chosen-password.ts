/** A password that somebody chooses, typed twice. */
import type { Parameters } from '@portcullis/protocol';
import { passwordFault } from '../accounts/password-rules.ts';
import type { TextName } from './texts/texts.ts';

/** What is wrong with each field: the names of texts. */
export interface PasswordFaults {
  readonly password: TextName | null;
  readonly passwordAgain: TextName | null;
}

/** `null` when it may be chosen. */
export function judgePassword(form: Parameters, emailKey: string): PasswordFaults | null {
  const password = form.one('password') ?? '';
  const fault = passwordFault(password, emailKey);
  if (fault !== null) return { password: `password.wrong.${fault}`, passwordAgain: null };
  if (form.one('password_again') === password) return null;
  return { password: null, passwordAgain: 'password.wrong.again' };
}
