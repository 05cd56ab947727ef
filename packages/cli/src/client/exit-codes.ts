/** Exit codes of the client commands, and the advice printed with their errors. */
import { ClientError, type ClientErrorCode } from '@portcullis/client';
import { HttpResponseError } from './transport/responses.ts';

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

/** Ends a command with an exit code. `message` is empty if the error was already printed. */
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
  if (error instanceof HttpResponseError) return exitCodeOfStatus(error.status);
  if (!(error instanceof ClientError) || USAGE.has(error.code)) return exitCodes.usage;
  if (SIGN_IN.has(error.code)) return exitCodes.signIn;
  return error.temporary ? exitCodes.temporary : exitCodes.rules;
}

/** 4xx statuses after which a retry may succeed. */
const RETRYABLE: ReadonlySet<number> = new Set([408, 425, 429]);

/** Whether a server that responded with an error may respond otherwise later: it is busy, or what is behind it is down. */
export function mayRecover(status: number): boolean {
  return RETRYABLE.has(status) || (status > 501 && status < 505);
}

function exitCodeOfStatus(status: number): ExitCode {
  if (status >= 500 || RETRYABLE.has(status)) return exitCodes.temporary;
  return status === 401 ? exitCodes.signIn : status === 403 ? exitCodes.toolFailed : exitCodes.usage;
}

/**
 * A hint printed after an error; empty if there is none. Never suggests an option already used.
 * @param args the command line
 */
export function hintFor(error: unknown, args: readonly string[]): string {
  if (!(error instanceof ClientError)) return '';
  const isGiven = (option: string): boolean =>
    args.some((arg) => arg === option || arg.startsWith(`${option}=`));
  if (error.oauthError === 'invalid_scope')
    return isGiven('--scope')
      ? 'This client is not registered for the scopes of --scope: request others, or change its registration'
      : 'Request scopes that this client is registered for with --scope, or change its registration';
  if (error.code === 'registration_needed' && !isGiven('--client-id'))
    return 'Then run it again with --client-id <id>, and with --client-secret-file <file> if it has a secret. If the redirect URI needs a port, choose one with --port <port>';
  if (error.code === 'store_unusable')
    return isGiven('--credentials') ? '' : 'Name another file with --credentials or PORTCULLIS_CREDENTIALS';
  if (error.code === 'registration_issuer_mismatch')
    return `If this client is registered there too, sign in again with ${isGiven('--credentials') ? 'another credential file' : '--credentials and a new file'}`;
  if (error.code !== 'cancelled' || isGiven('--device')) return '';
  const device = 'with --device if the authorization server offers device authorization';
  return isGiven('--no-browser')
    ? `Run it again in a terminal, where you can paste the URL, or ${device}`
    : `Run it again with --no-browser if no browser can be opened, or ${device}`;
}

/** The table of exit codes in help texts. */
export const exitCodeHelp: string = [
  'Exit codes:',
  '  0    success',
  '  1    invalid usage, invalid settings, or an unexpected error',
  '  2    the server responded to the call with an error',
  '  3    a sign-in is required, was declined, or failed',
  '  4    a server is unreachable or unavailable: try again later',
  '  5    a server violates the specification, and the request was not sent',
  '  130  interrupted',
].join('\n');
