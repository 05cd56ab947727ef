/** Asks for what no flag has answered. */
import { createInterface, type Interface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import {
  AnswerError,
  type Answers,
  isWorldwide,
  parameterOf,
  parseAllowed,
  parseBackend,
  parseLocation,
  parseProvider,
  parseWord,
  type SignIn,
} from './answers.ts';

/** Answers from the command line, as text. */
export interface GivenAnswers {
  readonly protect?: string | undefined;
  readonly signIn?: string | undefined;
  readonly tenant?: string | undefined;
  readonly domain?: string | undefined;
  readonly clientId?: string | undefined;
  /** The secret itself; the command line names its file. */
  readonly clientSecret?: string | undefined;
  readonly allow?: string | undefined;
  readonly location?: string | undefined;
}

export interface PromptStreams {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

interface Prompt<T> {
  readonly text: string;
  /** The flag that answers it. */
  readonly flag: string;
  readonly given: string | undefined;
  readonly default?: string;
  readonly isSecret?: boolean;
  parse(text: string): T;
}

type Ask = <T>(prompt: Prompt<T>) => Promise<T>;

/** @throws AnswerError for a flag that cannot be used, or when the input ends before all prompts are answered */
export async function promptForAnswers(given: GivenAnswers, terminal: PromptStreams): Promise<Answers> {
  const asking = openTerminal(terminal);
  try {
    return await askAll(given, asking.ask);
  } finally {
    asking.close();
  }
}

async function askAll(given: GivenAnswers, ask: Ask): Promise<Answers> {
  const backend = await ask({
    text: '1. What do you want to protect? The URL of an MCP server, or the command of one over stdio',
    flag: '--protect',
    given: given.protect,
    parse: parseBackend,
  });
  const provider = await ask({
    text: '2. How do users sign in? accounts (passwords and passkeys), google, github, microsoft-entra, okta, or the issuer of an OpenID provider',
    flag: '--sign-in',
    given: given.signIn,
    default: 'accounts',
    parse: parseProvider,
  });
  const signIn: SignIn =
    provider === 'accounts' ? { kind: 'accounts' } : await askProvider(provider, given, ask);
  const location = await ask({
    text: '3. Where does it run? local (this computer), or its public URL, such as https://auth.example.com',
    flag: '--location',
    given: given.location,
    default: 'local',
    parse: parseLocation,
  });
  return { backend, signIn, location };
}

async function askProvider(provider: string, given: GivenAnswers, ask: Ask): Promise<SignIn> {
  const name = parameterOf(provider);
  const parameter =
    name === undefined
      ? undefined
      : await ask({ text: `   The ${name} there`, flag: `--${name}`, given: given[name], parse: parseWord });
  const clientId = await ask({
    text: '   The client ID that the provider has issued to you',
    flag: '--client-id',
    given: given.clientId,
    parse: parseWord,
  });
  const clientSecret = await ask({
    text: '   The client secret (is not shown)',
    flag: '--client-secret-file',
    given: given.clientSecret,
    isSecret: true,
    parse: parseWord,
  });
  const allowedUsers = await askWho(provider, given, ask);
  return { kind: 'provider', provider, parameter, clientId, clientSecret, allowedUsers };
}

/** Where everyone in the world has an account, there is no default: `anyone` has to be typed. */
async function askWho(
  provider: string,
  given: GivenAnswers,
  ask: Ask,
): Promise<Readonly<Record<string, unknown>> | null> {
  if (!isWorldwide(provider) && given.allow === undefined) return null;
  const who =
    provider === 'github'
      ? 'GitHub user names or numeric IDs'
      : 'a domain such as example.org, or e-mail addresses';
  return ask({
    text: `   Who may sign in? ${who}, separated by commas; or the word anyone`,
    flag: '--allow',
    given: given.allow,
    parse: (text) => parseAllowed(provider, text),
  });
}

/** Opened by the first prompt: with all flags given, nothing is read. */
function openTerminal({ input, output }: PromptStreams): { ask: Ask; close(): void } {
  let isMuted = false;
  const shown = new Writable({
    write(chunk, _encoding, done) {
      if (!isMuted) output.write(chunk);
      done();
    },
  });
  let opened: Interface | undefined;
  let lines: AsyncIterator<string> | undefined;

  async function read(prompt: Prompt<unknown>): Promise<string> {
    opened ??= createInterface({ input, output: shown, terminal: input.isTTY });
    // One reader for all: piped lines that arrive together are not lost between prompts.
    lines ??= opened[Symbol.asyncIterator]();
    opened.setPrompt(`${prompt.text}${prompt.default === undefined ? '' : ` [${prompt.default}]`}: `);
    opened.prompt();
    isMuted = prompt.isSecret === true;
    const { value, done } = await lines.next();
    isMuted = false;
    if (prompt.isSecret || !input.isTTY) output.write('\n');
    if (done) throw new AnswerError(`no answer: give it with ${prompt.flag}`);
    return value.trim() === '' ? (prompt.default ?? '') : value;
  }

  return {
    async ask(prompt) {
      if (prompt.given !== undefined) return withFlag(prompt.flag, () => prompt.parse(prompt.given ?? ''));
      for (;;) {
        const text = await read(prompt);
        try {
          return prompt.parse(text);
        } catch (error) {
          if (!(error instanceof AnswerError)) throw error;
          output.write(`   ${error.message}\n`);
        }
      }
    },
    close: () => opened?.close(),
  };
}

function withFlag<T>(flag: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof AnswerError ? new AnswerError(`${flag}: ${error.message}`) : error;
  }
}
