/** What can be done about an HTTP error of a server: by a user, or by the operator of an application. */
import { missingScopes, type Scopes, unionScopes } from '@portcullis/protocol';
import { cleanLine } from '../terminal/clean.ts';
import { type ExitCode, exitCodeOf, exitCodes } from './exit-codes.ts';
import type { SignInFlags } from './flags.ts';
import { signInCommand } from './sign-in-command.ts';
import type { HttpResponseError } from './transport/responses.ts';

/** The session in which a request failed. */
interface FailedSession {
  readonly server: string;
  readonly flags: Pick<SignInFlags, 'account' | 'application' | 'clientId' | 'scope' | 'stepUp'>;
  /** How the command line is invoked. */
  readonly command: string;
  readonly scopes: Scopes;
}

export function adviceFor(error: HttpResponseError, session: FailedSession): string {
  const { missing } = error;
  const { server, flags, command } = session;
  const code = exitCodeOf(error);
  const reason = error.message.replace(/\.$/, '');
  if (code === exitCodes.signIn)
    return flags.application
      ? `${reason}, although ${clientOf(session)} has just obtained this token. The operator of the server needs to check why`
      : `${reason}, although you are signed in. Sign in again: ${signInCommand(server, flags.account, command)}`;
  if (code !== exitCodes.toolFailed || missing.length === 0) return generalAdvice(code, reason, server);
  return `${reason}. ${flags.application ? adviceOnRegistration(missing, session) : adviceOnSignIn(missing, session)}`;
}

function adviceOnSignIn(missing: Scopes, { server, flags, command, scopes }: FailedSession): string {
  const signIn = signInCommand(server, flags.account, command, unionScopes(scopes, missing));
  const again = flags.stepUp
    ? 'the authorization server did not grant it with --step-up. Sign in'
    : 'run this again with --step-up, or sign in';
  return `The call requires ${textOf(missing)}: ${again} with ${signIn}`;
}

/** The scopes of an application depend on its registration rather than on a sign-in. */
function adviceOnRegistration(missing: Scopes, session: FailedSession): string {
  const { scope: named, stepUp } = session.flags;
  // The challenge names every scope that the call requires.
  const others = missingScopes(missing, session.scopes);
  const lacked = others.length > 0 ? others : missing;
  const forgotten = lacked.filter((scope) => named?.includes(scope) === false);
  const add = `Add ${textOf(forgotten)} to --scope${stepUp ? '' : ', or use --step-up'}. If that is refused, the`;
  const client = clientOf(session);
  return `The token of ${client} lacks ${textOf(lacked)}. ${forgotten.length > 0 ? add : 'The'} registration of ${client} at the authorization server must allow ${textOf(lacked)}`;
}

function clientOf({ flags: { clientId = '' } }: FailedSession): string {
  return `the client ${cleanLine(clientId)}`;
}

function textOf(scopes: Scopes): string {
  return scopes.map(cleanLine).join(' ');
}

function generalAdvice(code: ExitCode, reason: string, server: string): string {
  if (code === exitCodes.temporary)
    return /\btry again later$/i.test(reason) ? reason : `${reason}. Try again later`;
  if (code === exitCodes.toolFailed) return reason;
  const path = new URL(server).pathname === '/mcp' ? '' : ': check the path, which is often /mcp';
  return `${reason}. There is no MCP server at ${server}${path}`;
}
