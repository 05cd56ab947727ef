/** Options that all commands of the client share, and how they are read. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { exitCodeHelp } from './exit-codes.ts';

/** `name=value` of an option. */
type Pair = readonly [string, string];

/** What commander makes of the options. */
export interface ClientFlags {
  readonly account: string;
  readonly credentials?: string;
  readonly revision?: string;
  readonly trustOrigin?: readonly string[];
  readonly issuerAlias?: readonly Pair[];
  readonly resourceFor?: readonly Pair[];
  readonly dpop?: 'when-required' | 'when-offered' | 'never';
  readonly json?: true;
}

/** Whose session is meant: the person's, unless they name a program. */
export interface ProgramFlags extends ClientFlags {
  readonly application?: true;
  readonly clientId?: string;
  readonly clientSecretFile?: string;
}

/** Of commands that may have to sign somebody in. */
export interface SignInFlags extends ProgramFlags {
  /** `--no-browser` makes it false. */
  readonly browser: boolean;
  readonly device?: true;
  readonly clientMetadataUrl?: string;
  readonly port?: number;
  readonly scope?: readonly string[];
  readonly stepUp?: true;
}

const accountOption = () =>
  new Option('--account <name>', 'which of several accounts at this server')
    .default('default')
    .argParser(readName);

export const credentialsOption = (): Option =>
  new Option(
    '--credentials <file>',
    'where credentials are kept [PORTCULLIS_CREDENTIALS, a folder of the system for settings]',
  );

/** Adds what every command of the client takes, and the table of exit codes. */
export function addClientOptions(command: Command): Command {
  return command
    .addOption(accountOption())
    .addOption(credentialsOption())
    .option('--revision <date>', 'pin the revision of the specification, by its date')
    .option('--trust-origin <origin...>', 'other origins where endpoints and metadata may be')
    .addOption(
      pairOption('--issuer-alias <named=own...>', 'an issuer as the server names it, and as it names itself'),
    )
    .addOption(
      pairOption(
        '--resource-for <issuer=resource...>',
        'what an issuer wants as resource instead of what the server publishes; issuer= for none',
      ),
    )
    .addOption(
      new Option('--dpop <when>', 'bind tokens to a key of this computer').choices([
        'when-required',
        'when-offered',
        'never',
      ]),
    )
    .addHelpText('after', `\n${exitCodeHelp}`);
}

const PASTE = 'print the address to open, and read the address at which the browser ended';

function pairOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser<readonly Pair[]>((word, before = []) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    if (name === '') throw new InvalidArgumentError('It must be written name=value.');
    return [...before, [name, value]];
  });
}

/** Adds what a sign-in takes. Secrets are never among the arguments. */
export function addSignInOptions(command: Command, noBrowser: string = PASTE): Command {
  return addProgramOptions(
    addClientOptions(command)
      .option('--no-browser', noBrowser)
      .option('--device', 'sign in on another device, by a short code'),
  )
    .option('--client-metadata-url <url>', 'address of a client ID metadata document to be known by')
    .option('--port <number>', 'port of this computer where the browser comes back', readPort)
    .option('--scope <scopes...>', 'ask for these scopes instead of those that the server names')
    .option('--step-up', 'ask for more scopes without asking here first; the consent page asks all the same');
}

/** Adds what names a program, and the client of a person. */
export function addProgramOptions(command: Command): Command {
  return command
    .option('--application', 'act as the application itself: client credentials')
    .option('--client-id <id>', 'a client that is registered already')
    .option(
      '--client-secret-file <file>',
      'file with its secret, - for standard input [PORTCULLIS_CLIENT_SECRET]',
    );
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'as JSON');
}

function readName(text: string): string {
  if (text.trim() === '' || text.length > 100) throw new InvalidArgumentError('It must be a short name.');
  return text;
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 1 && port <= 65_535)) throw new InvalidArgumentError('It must be a port.');
  return port;
}
