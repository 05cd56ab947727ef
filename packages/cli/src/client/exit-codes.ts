/** Exit codes of the commands that act as a client: which kind of thing went wrong, for scripts. */
import { ClientError, type ClientErrorCode } from '@portcullis/client';
import { type Scopes, unionScopes } from '@portcullis/protocol';
import { cleanLine } from '../terminal/clean.ts';
import { Refusal } from './answers.ts';

/** In the order of the help text. */
export const exitCodes = {
  done: 0,
  usage: 1,
  toolFailed: 2,
  signIn: 3,
  temporary: 4,
  rules: 5,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a code of its own. What there was to say has been said when `message` is empty. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure';
  readonly code: ExitCode;

  constructor(code: ExitCode, message = '') {
    super(message);
    this.code = code;
  }
}

const USAGE: ReadonlySet<ClientErrorCode> = new Set([
  'configuration_invalid',
  'server_url_invalid',
  'store_unusable',
]);

const SIGN_IN: ReadonlySet<ClientErrorCode> = new Set([
  'sign_in_needed',
  'authorization_denied',
  'authorization_failed',
  'registration_needed',
  'cancelled',
  'token_refused',
]);

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.code;
  if (error instanceof Refusal) return exitCodeOfStatus(error.status);
  if (!(error instanceof ClientError) || USAGE.has(error.code)) return exitCodes.usage;
  if (SIGN_IN.has(error.code)) return exitCodes.signIn;
  return error.temporary ? exitCodes.temporary : exitCodes.rules;
}

/** Statuses of the 4xx family that say "not now". */
const NOT_NOW: ReadonlySet<number> = new Set([408, 425, 429]);

function exitCodeOfStatus(status: number): ExitCode {
  if (status >= 500 || NOT_NOW.has(status)) return exitCodes.temporary;
  return status === 401 ? exitCodes.signIn : status === 403 ? exitCodes.toolFailed : exitCodes.usage;
}

/** The command by which somebody signs in for a session that is kept under this name. */
export function signInCommand(server: string, account: string, command: string): string {
  return `${command} login ${server}${account === 'default' ? '' : ` --account ${account}`}`;
}

/** What an answer that was no message of the protocol is advised on by. */
interface Situation {
  readonly server: string;
  /** Under which name the session is kept. */
  readonly account: string;
  /** How this program is called again. */
  readonly command: string;
  /** Of the session. */
  readonly scopes: Scopes;
}

/** What to do about an answer that was no message of the protocol. */
export function adviceOn(
  { status, message, missing }: Refusal,
  { server, account, command, scopes }: Situation,
): string {
  const code = exitCodeOfStatus(status);
  const said = message.replace(/\.$/, '');
  const signIn = signInCommand(server, account, command);
  if (code === exitCodes.signIn) return `${said}, though somebody is signed in. Sign in again: ${signIn}`;
  if (code === exitCodes.toolFailed && missing.length > 0) {
    const all = unionScopes(scopes, missing).map(cleanLine).join(' ');
    return `${said}. It needs ${missing.map(cleanLine).join(' ')}: run this again with --step-up, or sign in for it by ${signIn} --scope ${all}`;
  }
  return adviceToAnybody(code, said, server);
}

/** What an application is advised on by. */
interface ProgramSituation {
  readonly server: string;
  readonly clientId: string;
  /** Scopes that it was told to ask for; `null`: those that the server names. */
  readonly named: Scopes | null;
}

/** The same for an application, which nobody signs in for: what it may is a matter of its registration. */
export function adviceToProgram(
  { status, message, missing }: Refusal,
  { server, clientId, named }: ProgramSituation,
): string {
  const code = exitCodeOfStatus(status);
  const said = message.replace(/\.$/, '');
  const who = `the client ${cleanLine(clientId)}`;
  if (code === exitCodes.signIn)
    return `${said}, though ${who} has just got it. Whoever runs the server has to look why`;
  if (code !== exitCodes.toolFailed || missing.length === 0) return adviceToAnybody(code, said, server);
  const lacks = missing.map(cleanLine).join(' ');
  const forgotten = named !== null && missing.some((scope) => !named.includes(scope));
  const name = forgotten ? `Name it with --scope as well (or let --step-up do it). ` : '';
  const registration = `${forgotten ? 'If that is refused, the' : 'The'} registration of ${who} at the authorization server has to be changed to allow ${lacks}`;
  return `${said}. The token of ${who} lacks ${lacks}. ${name}${registration}`;
}

function adviceToAnybody(code: ExitCode, said: string, server: string): string {
  if (code === exitCodes.temporary)
    return /\btry again later$/i.test(said) ? said : `${said}. Try again later`;
  if (code === exitCodes.toolFailed) return said;
  const path =
    new URL(server).pathname === '/mcp' ? '' : ': look whether the path is right, often it is /mcp';
  return `${said}. There is no MCP server at ${server}${path}`;
}

/** What else to say of a failure, in this program's own words; empty: nothing. */
export function hintOn(error: unknown): string {
  if (!(error instanceof ClientError)) return '';
  if (error.oauthError === 'invalid_scope')
    return 'Name scopes that this client may have with --scope, or have its registration changed';
  if (error.code === 'cancelled')
    return 'Run it again: with --no-browser where no browser can be opened, or with --device to sign in on another device';
  return '';
}

/** What the help texts say of them. */
export const exitCodeHelp: string = [
  'Exit codes:',
  '  0    done',
  '  1    wrong usage, wrong settings, or something unforeseen',
  '  2    the server answered the call with an error',
  '  3    somebody has to sign in, or the sign-in was declined or failed',
  '  4    a server could not be reached or is out of order: try again later',
  '  5    a server breaks a rule, and nothing was sent to it',
  '  130  interrupted',
].join('\n');
