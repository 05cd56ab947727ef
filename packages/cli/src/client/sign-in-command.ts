/** Commands as text to copy, safe from shell and option injection. */
import type { Scopes } from '@portcullis/protocol';

/** The command for a session. @param scopes to request, as received from a server */
export function signInCommand(server: string, account: string, command: string, scopes: Scopes = []): string {
  const named = account === 'default' ? '' : ` --account ${shellWord(account)}`;
  return `${command} login ${shellWord(server)}${named}${scopeOption(scopes)}`;
}

/** One word of a command line; in single quotes if a shell would interpret it. */
export function shellWord(text: string): string {
  return /^[\w./:@%~+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A scope may contain `;`, `$(` or backticks, or be `--whole-origin`: users, and models too, run what an error advises. */
const PLAIN_SCOPE = /^\w[\w./:@%+-]*$/;

function scopeOption(scopes: Scopes): string {
  if (scopes.length === 0) return '';
  return scopes.every((scope) => PLAIN_SCOPE.test(scope))
    ? ` --scope ${scopes.join(' ')}`
    : ', and with --scope if you know these names: they act on a command line, so quote them';
}
