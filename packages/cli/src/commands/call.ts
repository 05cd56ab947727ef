/** `portcullis call`: calls a tool of a protected server, and prints its result as text or JSON. */
import { parseExactly } from '@portcullis/http';
import type { Command } from 'commander';
import { CommandFailure, exitCodes, mayRecover } from '../client/exit-codes.ts';
import { readFlagFile } from '../client/flag-file.ts';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { ServerError } from '../client/mcp-client.ts';
import { withMcpConnection } from '../client/mcp-connection.ts';
import { withClient } from '../client/open-client.ts';
import { WAITING } from '../client/progress-messages.ts';
import { shellWord } from '../client/sign-in-command.ts';
import { SettingsError } from '../errors.ts';
import { isObject, parseJson } from '../json.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine, cleanText } from '../terminal/clean.ts';

type Flags = SignInFlags & { readonly input?: string };
type Input = Readonly<Record<string, unknown>>;

export function defineCall(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('call')
    .summary('call a tool of a protected server')
    .description(
      'Calls a tool of a protected server, signing in first if necessary, and waits for the result for up to two hours.\n' +
        'Write arguments as name=text, or as name:=JSON for numbers, lists and other values.',
    )
    .argument('<server-url>', 'URL of the protected server')
    .argument('<tool>', 'name of the tool')
    .argument('[arguments...]', 'text=hello, count:=3')
    .option('--input <file>', 'file with the arguments as a JSON object, - for standard input');
  addJsonOption(addSignInOptions(command)).action(
    async (serverUrl: string, tool: string, words: readonly string[], flags: Flags) => {
      const input = { ...(await readInput(flags.input, processContext)), ...readWords(words) };
      await call(serverUrl, tool, input, flags, processContext);
    },
  );
}

function call(
  serverUrl: string,
  tool: string,
  input: Input,
  flags: Flags,
  processContext: ProcessContext,
): Promise<void> {
  return withClient(serverUrl, flags, processContext, async ({ terminal, ...opened }) => {
    terminal.during(WAITING);
    const advice = (refusal: string) =>
      UNKNOWN_TOOL.test(refusal)
        ? ` (its tools: ${processContext.command} tools ${shellWord(serverUrl)})`
        : adviceOnTexts(refusal, input);
    const result = await withMcpConnection(opened, flags, processContext, async (request) => {
      try {
        return await request('tools/call', { name: tool, arguments: input });
      } catch (error) {
        if (flags.json && error instanceof ServerError) {
          terminal.print(`${cleanJson({ error: error.rpc })}\n`);
          throw new CommandFailure(mayRecover(error.status) ? exitCodes.temporary : exitCodes.toolFailed);
        }
        if (error instanceof ServerError) throw withAdvice(error, advice);
        throw error;
      }
    });
    const failed = isObject(result) && result['isError'] === true;
    const text = flags.json ? `${cleanJson(result)}\n` : describe(result);
    if (failed && !flags.json) terminal.tell(`${text}${advice(text)}`);
    else terminal.print(text);
    if (failed) throw new CommandFailure(exitCodes.toolFailed);
  });
}

/** As the gateway and the official SDKs say it. */
const UNKNOWN_TOOL = /^(?:MCP error -?\d+: )?(?:unknown tool\b|tool .* not found)/i;

function withAdvice(error: ServerError, advice: (refusal: string) => string): ServerError {
  const message = `${error.message}${advice(error.message)}`;
  return new ServerError({ ...error.rpc, message }, error.status);
}

/** How to write numbers and other JSON, where a server refuses the text that was sent instead. */
function adviceOnTexts(refusal: string, input: Input): string {
  if (!/number|integer|boolean|array|object|valid|arguments/i.test(refusal)) return '';
  const [name, value] =
    Object.entries(input).find(([, given]) => typeof given === 'string' && parseJson(given) !== undefined) ??
    [];
  return name === undefined
    ? ''
    : ` A value that is not text is written with :=, as in ${name}:=${String(value)}.`;
}

/** Formats a result: text unchanged, and the type and size of other content. */
function describe(result: unknown): string {
  const content =
    isObject(result) && Array.isArray(result['content']) ? result['content'].filter(isObject) : [];
  if (content.length === 0)
    return `${cleanJson(isObject(result) ? (result['structuredContent'] ?? result) : result)}\n`;
  return `${content.map(describeBlock).join('\n')}\n`;
}

function describeBlock(block: Input): string {
  if (typeof block['text'] === 'string') return cleanText(block['text']);
  if (typeof block['data'] === 'string') {
    const bytes = Buffer.byteLength(block['data'], 'base64');
    return `[${cleanLine(String(block['type']))}, ${cleanLine(String(block['mimeType']))}, ${bytes} bytes: use --json to print it]`;
  }
  return cleanJson(block);
}

function readWords(words: readonly string[]): Input {
  const issues: string[] = [];
  const pairs = words.flatMap((word): [string, unknown][] => {
    const [, name = '', sign = '', value = ''] = /^([^=:]+)(:?=)([\s\S]*)$/.exec(word) ?? [];
    if (name === '') {
      issues.push(`${cleanLine(word)} is not an argument: write name=text or name:=JSON`);
      return [];
    }
    if (sign === '=') return [[name, value]];
    const json = parseArgument(value);
    if (json === undefined) issues.push(`${cleanLine(name)}:= must be followed by JSON`);
    return [[name, json]];
  });
  if (issues.length > 0) throw new SettingsError(issues);
  return Object.fromEntries(pairs);
}

/** Numbers are sent as they are written: identifiers may have more digits than a double. @returns `undefined` if it is not JSON */
function parseArgument(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

async function readInput(file: string | undefined, processContext: ProcessContext): Promise<Input> {
  if (file === undefined) return {};
  const json = parseArgument(await readFlagFile('--input', file, processContext));
  if (!isObject(json)) throw new SettingsError(['--input must be a JSON object']);
  return json;
}
