/** From the command line to the written folder and the running server. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { AnswerError, type Answers, providerId } from './answers.ts';
import { HELP, parseCommandLine } from './command-line.ts';
import { CONFIGURATION, filesFor, type NewFile } from './files.ts';
import { packageVersion, startHere, startWithCompose } from './programs.ts';
import { type PromptStreams, promptForAnswers } from './prompts.ts';

export interface SetupStreams extends PromptStreams {
  readonly errors: NodeJS.WriteStream;
}

/**
 * @param printSchema of the configuration file
 * @returns the exit code: 0, 1 for wrong usage and anything that fails, or that of the server
 */
export async function setUp(
  args: readonly string[],
  streams: SetupStreams,
  printSchema: () => Promise<string>,
): Promise<number> {
  try {
    const { help, folder, start, given } = parseCommandLine(args);
    if (help) return say(streams, HELP);
    // Before the prompts, so that no answer is lost.
    refuseToOverwrite(folder, [CONFIGURATION]);
    const answers = await promptForAnswers(given, streams);
    const facts = {
      version: packageVersion,
      schema: await printSchema(),
      password: randomBytes(24).toString('hex'),
    };
    const files = filesFor(answers, facts);
    refuseToOverwrite(
      folder,
      files.map(({ path }) => path),
    );
    await writeFiles(folder, files);
    say(streams, summary(folder, files, answers));
    return start ? await startServer(folder, answers, streams) : say(streams, nextSteps(folder, answers));
  } catch (error) {
    if (!(error instanceof AnswerError) && !isSystemError(error)) throw error;
    streams.errors.write(`create-portcullis: ${error.message}\n`);
    return 1;
  }
}

function say({ output }: SetupStreams, text: string): number {
  output.write(text);
  return 0;
}

const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

function refuseToOverwrite(folder: string, paths: readonly string[]): void {
  const existing = paths.filter((path) => existsSync(join(folder, path)));
  if (existing.length === 0) return;
  throw new AnswerError(
    `${resolve(folder)} has ${existing.join(', ')} already, and nothing is overwritten: name another folder`,
  );
}

async function writeFiles(folder: string, files: readonly NewFile[]): Promise<void> {
  for (const { path, text, isSecret } of files) {
    const file = join(folder, path);
    const made = await mkdir(dirname(file), { recursive: true, ...(isSecret && { mode: 0o700 }) });
    // A new folder keeps a secret from others here, and the user in the container can read the file that compose mounts.
    await writeFile(file, text, { flag: 'wx', mode: isSecret && made === undefined ? 0o600 : 0o644 });
  }
}

function summary(folder: string, files: readonly NewFile[], { signIn, location, port }: Answers): string {
  const lines = [`\nWritten to ${resolve(folder)}:`, ...files.map(({ path }) => `  ${path}`)];
  if (signIn.kind === 'provider') {
    const origin = location.kind === 'public' ? location.url : `http://localhost:${port}`;
    lines.push(
      `\nRegister this redirect URI at the provider: ${origin}/callback/${providerId(signIn.provider)}`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}

function nextSteps(folder: string, { location }: Answers): string {
  const enter = `  cd ${relative('.', folder) || '.'}\n`;
  return location.kind === 'public'
    ? `On the machine of ${location.url}:\n${enter}  docker compose up --build --detach\n`
    : `To start:\n${enter}  npm install\n  npm start\n`;
}

async function startServer(folder: string, answers: Answers, streams: SetupStreams): Promise<number> {
  if (answers.location.kind === 'local') {
    const enter = relative('.', folder) || '.';
    say(streams, `Starts now; the next time: cd ${enter} && npm install && npm start\n\n`);
    return startHere(folder, CONFIGURATION);
  }
  const code = await startWithCompose(folder);
  return code ?? say(streams, `There is no Docker here. ${nextSteps(folder, answers)}`);
}
