/** Asks in a terminal for what no flag has answered. */
import { password, select, text } from '@clack/prompts';
import {
  AnswerError,
  type Answers,
  DEFAULT_PORT,
  isWorldwide,
  type Location,
  parameterOf,
  parseAllowed,
  parseBackend,
  parseLocation,
  parsePort,
  parseProvider,
  parseWord,
  type SignIn,
} from './answers.ts';
import type { GivenAnswers } from './command-line.ts';

export interface PromptStreams {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
}

interface Prompt<T> {
  readonly text: string;
  /** What a terminal offers as a list; `OTHER` asks for text. */
  readonly choices?: readonly { readonly value: string; readonly label: string; readonly hint?: string }[];
  /** Asks for the text of `OTHER`. */
  readonly other?: string;
  /** The flag that answers it. */
  readonly flag: keyof GivenAnswers;
  readonly default?: string;
  readonly isSecret?: boolean;
  parse(text: string): T;
}

/** The choice that is none of the others. */
const OTHER = 'other';

type Ask = <T>(prompt: Prompt<T>) => Promise<T>;

/** @throws AnswerError for a flag that cannot be used, or one that is missing where nothing can be asked */
export async function promptForAnswers(given: GivenAnswers, terminal: PromptStreams): Promise<Answers> {
  const isInteractive = terminal.input.isTTY && terminal.output.isTTY;
  return askAll(given, isInteractive, async (prompt) => {
    const named = given[prompt.flag];
    if (named === undefined && !isInteractive)
      throw new AnswerError(`no answer: give it with --${prompt.flag}`);
    for (;;) {
      const answer = named ?? (await read(prompt, terminal));
      try {
        return prompt.parse(answer);
      } catch (error) {
        if (!(error instanceof AnswerError)) throw error;
        if (named !== undefined) throw new AnswerError(`--${prompt.flag}: ${error.message}`);
        terminal.output.write(`   ${error.message}\n`);
      }
    }
  });
}

/** @param isInteractive whether a user can be asked in a terminal */
async function askAll(given: GivenAnswers, isInteractive: boolean, ask: Ask): Promise<Answers> {
  const backend = await ask({
    text: '1. What do you want to protect? The URL of an MCP server, or the command of one over stdio',
    flag: 'protect',
    parse: parseBackend,
  });
  const provider = await ask({
    text: '2. How do users sign in?',
    choices: [
      { value: 'accounts', label: 'Accounts of this server', hint: 'passwords and passkeys' },
      { value: 'google', label: 'Google' },
      { value: 'github', label: 'GitHub' },
      { value: 'microsoft-entra', label: 'Microsoft Entra' },
      { value: 'okta', label: 'Okta' },
      { value: OTHER, label: 'Another OpenID provider' },
    ],
    other: 'The issuer of the OpenID provider, an https URL',
    flag: 'sign-in',
    default: 'accounts',
    parse: parseProvider,
  });
  const signIn: SignIn =
    provider === 'accounts'
      ? { kind: 'accounts' }
      : await askProvider(provider, given.allow !== undefined, ask);
  const location = await ask({
    text: '3. Where does it run?',
    choices: [
      { value: 'local', label: 'On this computer' },
      { value: OTHER, label: 'At a public URL', hint: 'with PostgreSQL and TLS' },
    ],
    other: 'The public URL, such as https://auth.example.com',
    flag: 'location',
    default: 'local',
    parse: parseLocation,
  });
  return { backend, signIn, location, port: await askPort(location, given.port, isInteractive, ask) };
}

/** Behind a proxy, and where nothing can be asked, the port is the usual one. */
async function askPort(
  { kind }: Location,
  port: string | undefined,
  isInteractive: boolean,
  ask: Ask,
): Promise<number> {
  if (kind === 'public' && port !== undefined)
    throw new AnswerError('--port is for a server on this computer: a public one is reached by its proxy');
  if (port === undefined && (kind === 'public' || !isInteractive)) return Number(DEFAULT_PORT);
  return ask({ text: 'On which port?', flag: 'port', default: DEFAULT_PORT, parse: parsePort });
}

async function askProvider(provider: string, isLimited: boolean, ask: Ask): Promise<SignIn> {
  const name = parameterOf(provider);
  const parameter =
    name === undefined ? undefined : await ask({ text: `The ${name} there`, flag: name, parse: parseWord });
  const clientId = await ask({
    text: 'The client ID that the provider has issued to you',
    flag: 'client-id',
    parse: parseWord,
  });
  const clientSecret = await ask({
    text: 'The client secret (is not shown)',
    flag: 'client-secret-file',
    isSecret: true,
    parse: parseWord,
  });
  const allowedUsers = isLimited || isWorldwide(provider, parameter) ? await askWho(provider, ask) : null;
  return { kind: 'provider', provider, parameter, clientId, clientSecret, allowedUsers };
}

/** Where everyone in the world has an account, there is no default: `anyone` has to be typed. */
function askWho(provider: string, ask: Ask): Promise<ReturnType<typeof parseAllowed>> {
  const who =
    provider === 'github'
      ? 'GitHub user names or numeric IDs'
      : 'a domain such as example.org, or e-mail addresses';
  return ask({
    text: `Who may sign in? ${who}, separated by commas; or the word anyone`,
    flag: 'allow',
    parse: (text) => parseAllowed(provider, text),
  });
}

/** A list to choose from, or a field. */
async function read(prompt: Prompt<unknown>, streams: PromptStreams): Promise<string> {
  const { choices, text: message, default: initialValue } = prompt;
  const given = { ...streams, message, ...(initialValue !== undefined && { initialValue }) };
  if (prompt.isSecret) return uncancelled(await password({ ...streams, message }), prompt);
  if (choices === undefined) return uncancelled(await text(given), prompt);
  const chosen = uncancelled(await select({ ...given, options: [...choices] }), prompt);
  return chosen === OTHER
    ? uncancelled(await text({ ...streams, message: prompt.other ?? message }), prompt)
    : chosen;
}

/** @throws AnswerError after Ctrl+C */
function uncancelled(answer: string | symbol | undefined, { flag }: Prompt<unknown>): string {
  if (typeof answer === 'symbol')
    throw new AnswerError(`cancelled: nothing was written; --${flag} answers it beforehand`);
  return answer ?? '';
}
