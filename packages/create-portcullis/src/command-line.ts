/** The command line of `npm create portcullis`. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { AnswerError } from './answers.ts';

export interface CommandLine {
  readonly help: boolean;
  /** Where the files are written. */
  readonly folder: string;
  readonly start: boolean;
  readonly given: GivenAnswers;
}

export const HELP = `Usage: npm create portcullis [folder] -- [options]

Puts authorization in front of an MCP server: asks three questions, writes a configuration file and a
compose.yaml into the folder (portcullis), and starts. What a flag answers is not asked.

  --protect <url|command>        what to protect: the URL of an MCP server, or the command of one over stdio
  --sign-in <how>                accounts, google, github, microsoft-entra, okta, or the https URL of the
                                 issuer of an OpenID provider
  --client-id <id>               of your registration at the identity provider
  --client-secret-file <file>    a file with its secret
  --allow <users>                who may sign in there: domains or email addresses, at github user names or
                                 numeric IDs, separated by commas; or anyone. Required for google and github
  --tenant <id>                  for microsoft-entra
  --domain <domain>              for okta, such as example.okta.com
  --location <local|url>         local: this computer; or the public https URL, with PostgreSQL and TLS
  --port <number>                of a server on this computer [8484]
  --no-start                     write the files only
  --help
`;

const options = {
  protect: { type: 'string' },
  'sign-in': { type: 'string' },
  'client-id': { type: 'string' },
  'client-secret-file': { type: 'string' },
  allow: { type: 'string' },
  tenant: { type: 'string' },
  domain: { type: 'string' },
  location: { type: 'string' },
  port: { type: 'string' },
  start: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Answers from the command line, as text; of the file with the client secret, its content. */
export type GivenAnswers = {
  readonly [Flag in Exclude<keyof typeof options, 'start' | 'help'>]?: string | undefined;
};

/** @throws AnswerError for an unknown flag, a second folder, or a file that cannot be read */
export function parseCommandLine(args: readonly string[]): CommandLine {
  const { values, positionals } = parse(args);
  if (positionals.length > 1)
    throw new AnswerError(
      `name one folder, not ${positionals.join(' and ')}; a command of several words is quoted`,
    );
  const { help, start, 'client-secret-file': file, ...given } = values;
  return {
    help: help === true,
    folder: positionals[0] ?? 'portcullis',
    start: start !== false,
    given: { ...given, 'client-secret-file': file === undefined ? undefined : readSecret(file) },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new AnswerError(error instanceof Error ? error.message : String(error));
  }
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new AnswerError(`--client-secret-file: ${error instanceof Error ? error.message : String(error)}`);
  }
}
