/** Outputs a new client secret: to the terminal, once, or to a new private file. */
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { reasonOf } from '../../errors.ts';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson } from '../../terminal/clean.ts';
import type { Flags } from './task.ts';

export function addSecretOptions(command: Command): void {
  command
    .option('--secret-file <file>', 'write its secret to this new file instead of showing it')
    .option('--json', 'print the registration response as JSON');
}

/** A document that may contain a `client_secret`. */
type Registered = Readonly<Record<string, unknown>>;

/**
 * Creates or changes a client, and prints or writes its secret. The file is created first: otherwise a write error would
 * lose the secret.
 * @param about what happened, as a sentence
 */
export async function showSecretOnce(
  flags: Flags,
  processContext: ProcessContext,
  act: () => Promise<{ readonly registered: Registered; readonly about: string }>,
): Promise<string> {
  const { secretFile } = flags;
  const file = secretFile === undefined ? null : await create(secretFile, processContext);
  let isWritten = false;
  try {
    const { registered, about } = await act();
    const { client_secret: secret, ...rest } = registered;
    if (file === null || secret === undefined) {
      return flags.json ? `${cleanJson(registered)}\n` : describe(about, secret);
    }
    await file.writeFile(`${secret}\n`);
    isWritten = true;
    return flags.json ? `${cleanJson(rest)}\n` : `${about}\nIts secret is in ${flags.secretFile}.\n`;
  } finally {
    await file?.close();
    if (secretFile !== undefined && file !== null && !isWritten) {
      await unlink(resolve(processContext.folder, secretFile));
    }
  }
}

/** Creates the file; never overwrites one. */
async function create(name: string, { folder }: ProcessContext): Promise<FileHandle> {
  return open(resolve(folder, name), 'wx', 0o600).catch((error: unknown) => {
    throw new Error(`--secret-file is ${name}, which cannot be created: ${reasonOf(error)}`, {
      cause: error,
    });
  });
}

function describe(about: string, secret: unknown): string {
  return secret === undefined ? `${about}\n` : `${about}\nIts secret, which is not shown again:\n${secret}\n`;
}
