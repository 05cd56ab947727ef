/** `portcullis clients add`: a client that an administrator vouches for, from a document and flags; its secret is told once. */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { OAuthError, TOKEN_EXCHANGE } from '@portcullis/protocol';
import { suggestName } from '@portcullis/protocol/option-names';
import { type Command, InvalidArgumentError } from 'commander';
import { reasonOf } from '../../errors.ts';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson } from '../../terminal/clean.ts';
import { warnOfScopes } from './scopes.ts';
import type { Act, Flags } from './task.ts';

const GRANTS = ['authorization_code', 'refresh_token', 'client_credentials', TOKEN_EXCHANGE];
const METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'];

/** The flags by which members of the metadata are said. */
const FLAGS: readonly (readonly [member: string, flag: string, of: keyof Flags])[] = [
  ['client_id', '--id', 'id'],
  ['client_name', '--client-name', 'clientName'],
  ['redirect_uris', '--redirect-uri', 'redirectUri'],
  ['grant_types', '--grant', 'grant'],
  ['scope', '--scope', 'scope'],
  ['token_endpoint_auth_method', '--method', 'method'],
];

export function addMetadataOptions(command: Command): void {
  const more = (value: string, before: readonly string[] = []) => [...before, value];
  command
    .option(
      '--metadata <file>',
      'all of its metadata as JSON (RFC 7591); flags win over it; - for standard input',
    )
    .option('--id <client-id>', 'its identifier; one is made when left out')
    .option('--client-name <text>', 'what people call it')
    .option('--redirect-uri <uri>', 'where codes may be sent; may be repeated', more)
    .option(
      '--grant <type>',
      'authorization_code, refresh_token or client_credentials; may be repeated',
      (value: string, before?: readonly string[]) => more(readOneOf(value, GRANTS), before),
    )
    .option('--scope <scopes>', 'all that it can ever get, with spaces in between; no limit when left out')
    .option(
      '--method <name>',
      'client_secret_basic, client_secret_post, private_key_jwt or none; none when left out',
      (value: string) => readOneOf(value, METHODS),
    )
    .option('--secret-file <file>', 'a new file for its secret, which is not shown then')
    .option('--json', 'the answer to the registration, as JSON');
}

export const addClient: Act = async ({ clients, settings, flags, processContext }) => {
  const document = { ...(await readMetadata(flags, processContext)), ...metadataOf(flags) };
  const warnings = await warnOfScopes(document, settings);
  // The file is there before the client is: a secret that cannot be kept would be lost.
  const file = flags.secretFile === undefined ? null : await create(flags.secretFile, processContext);
  try {
    const registered = await clients.add(document);
    for (const warning of warnings) processContext.complain(warning);
    const { client_secret: secret, ...rest } = registered;
    if (file === null || secret === undefined)
      return flags.json ? `${cleanJson(registered)}\n` : told(registered);
    await file.writeFile(`${secret}\n`);
    return flags.json ? `${cleanJson(rest)}\n` : told({ ...rest, kept: flags.secretFile });
  } catch (error) {
    throw error instanceof OAuthError
      ? new Error(inFlags(error.description, flags), { cause: error })
      : error;
  } finally {
    await file?.close();
  }
};

function readOneOf(value: string, known: readonly string[]): string {
  if (known.includes(value)) return value;
  throw new InvalidArgumentError(
    `${suggestName(value, known)[0]?.toUpperCase()}${suggestName(value, known).slice(1)}`,
  );
}

/** What is said of members on the wire, said of the flags that were used in their place. */
function inFlags(description: string, flags: Flags): string {
  return description
    .split('; ')
    .map((issue) => {
      const [member = '', position] = (/^[a-z_]+(?:\.\d+)?(?=:? )/.exec(issue)?.[0] ?? '').split('.');
      const known = FLAGS.find(([name, , of]) => name === member && said(flags, of));
      if (known === undefined) return issue;
      const [, flag, of] = known;
      const value = flags[of];
      const which = Array.isArray(value) && value.length > 1 ? ` ${value[Number(position ?? 0)]}` : '';
      return `${flag}${which}${issue.slice(member.length + (position === undefined ? 0 : position.length + 1))}`;
    })
    .join('; ');
}

/** The way to prove itself is none, unless it is said: then its flag is what is missing. */
function said(flags: Flags, of: keyof Flags): boolean {
  return flags[of] !== undefined || (of === 'method' && flags.metadata === undefined);
}

async function readMetadata({ metadata }: Flags, { folder, streams }: ProcessContext): Promise<object> {
  if (metadata === undefined) return {};
  let text = '';
  if (metadata === '-') for await (const chunk of streams.input) text += chunk;
  else
    text = await readFile(resolve(folder, metadata), 'utf8').catch((error: unknown) => {
      throw new Error(`--metadata names ${metadata}, which cannot be read: ${reasonOf(error)}`, {
        cause: error,
      });
    });
  try {
    const document: unknown = JSON.parse(text);
    if (typeof document === 'object' && document !== null && !Array.isArray(document)) return document;
  } catch {
    // Told below: what the parser says may quote a secret.
  }
  throw new Error(`--metadata names ${metadata}, which is no JSON object`);
}

function metadataOf({ id, clientName, redirectUri, grant, scope, method }: Flags): object {
  return {
    ...(id !== undefined && { client_id: id }),
    ...(clientName !== undefined && { client_name: clientName }),
    ...(redirectUri !== undefined && { redirect_uris: redirectUri }),
    ...(grant !== undefined && { grant_types: grant }),
    ...(scope !== undefined && { scope }),
    ...(method !== undefined && { token_endpoint_auth_method: method }),
  };
}

/** A file that was not there: nothing is written over. */
async function create(name: string, { folder }: ProcessContext): Promise<FileHandle> {
  return open(resolve(folder, name), 'wx', 0o600).catch((error: unknown) => {
    throw new Error(`--secret-file is ${name}, which cannot be made: ${reasonOf(error)}`, { cause: error });
  });
}

function told(registered: Readonly<Record<string, unknown>>): string {
  const { client_id: id, client_secret: secret, kept } = registered;
  const about = `The client ${id} can be used now.\n`;
  if (kept !== undefined) return `${about}Its secret is in ${kept}.\n`;
  return secret === undefined ? about : `${about}Its secret, which nobody can read again:\n${secret}\n`;
}
