/** Command-line options shared by the client commands, and their parsers. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { exitCodeHelp } from './exit-codes.ts';

/** An option value of the form `name=value`. */
type Pair = readonly [string, string];

/** Parsed options of every client command. */
export interface ClientFlags {
  readonly account: string;
  readonly credentials?: string;
  readonly revision?: string;
  readonly trustOrigin?: readonly string[];
  readonly issuerAlias?: readonly Pair[];
  readonly resourceFor?: readonly Pair[];
  readonly dpop?: 'when-required' | 'when-offered' | 'never';
  readonly wholeOrigin?: true;
  readonly json?: true;
}

/** Options that select the session of an application instead of the user's. */
export interface ProgramFlags extends ClientFlags {
  readonly application?: true;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
}

/** Options of commands that sign the user in when necessary. */
export interface SignInFlags extends ProgramFlags {
  /** `--no-browser` makes it false. */
  readonly browser: boolean;
  readonly device?: true;
  readonly clientMetadataUrl?: string;
  readonly clientName?: string;
  readonly port?: number;
  readonly scope?: readonly string[];
  readonly stepUp?: true;
}

const accountOption = () =>
  new Option('--account <name>', 'name of the session, to keep several accounts at one server')
    .default('default')
    .argParser(readName);

export const credentialsOption = (): Option =>
  new Option(
    '--credentials <file>',
    'file that stores credentials [PORTCULLIS_CREDENTIALS, the system settings folder]',
  );

/** Adds the options of every client command, and the table of exit codes. */
export function addClientOptions(command: Command): Command {
  return command
    .addOption(accountOption())
    .addOption(credentialsOption())
    .option(
      '--revision <date>',
      'revision of MCP, by its date, whose authorization rules apply; that of messages is negotiated',
    )
    .option('--trust-origin <origin...>', 'additional origins allowed for endpoints and metadata')
    .addOption(
      pairOption('--issuer-alias <named=own...>', 'issuer as named by the server, and as it names itself'),
    )
    .addOption(
      pairOption(
        '--resource-for <issuer=resource...>',
        'resource indicator to send to an issuer instead of the published one; issuer= to send none',
      ),
    )
    .addOption(
      new Option(
        '--dpop <when>',
        'bind tokens to a key on this computer; when-offered, the default: wherever the server can check it',
      ).choices(['when-required', 'when-offered', 'never']),
    )
    .option(
      '--whole-origin',
      'send the token to the whole origin of the server, not only below the path of its resource',
    )
    .addHelpText('after', `\n${exitCodeHelp}`);
}

const PASTE = 'print the URL to open, and read the URL that the browser was redirected to';

function pairOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser<readonly Pair[]>((word, before = []) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (name === '') throw new InvalidArgumentError('It must be written name=value.');
    return [...before, [name, value]];
  });
}

/** Adds the options of a sign-in. No option takes a secret as its value. */
export function addSignInOptions(command: Command, noBrowser: string = PASTE): Command {
  return addProgramOptions(
    addClientOptions(command)
      .option('--no-browser', noBrowser)
      .option('--device', 'sign in on another device with a short code'),
  )
    .option('--client-metadata-url <url>', 'URL of the client ID metadata document to identify with')
    .option(
      '--client-name <name>',
      'name to register with, instead of the command, the host that runs it and this computer',
      readName,
    )
    .option('--port <number>', 'local port for the redirect URI', readPort)
    .option('--scope <scopes...>', 'request these scopes instead of those that the server names')
    .option('--step-up', 'request additional scopes without confirmation here; the consent page still asks');
}

/** Adds the options that select an application, or the client of a user. */
export function addProgramOptions(command: Command): Command {
  return command
    .option('--application', 'act as the application itself (client credentials grant)')
    .option('--client-id <id>', 'ID of a pre-registered client')
    .option(
      '--client-secret-file <file>',
      'file with the client secret, - for standard input [PORTCULLIS_CLIENT_SECRET]',
    );
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print JSON');
}

function readName(text: string): string {
  if (text.trim() === '' || text.length > 100)
    throw new InvalidArgumentError('It must be a name of at most 100 characters.');
  return text;
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 1 && port <= 65_535)) throw new InvalidArgumentError('It must be a port number.');
  return port;
}
