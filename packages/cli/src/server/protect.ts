/** `portcullis protect`: authorization in front of one MCP server, in one process. */
import type { Command } from 'commander';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { optionOf } from '../settings/command-options.ts';
import { hasFlag, settingNames, variableOf } from '../settings/schema.ts';
import { type UpFlags, up, VERBOSE } from './up.ts';

/** The path of the protected server. */
const PATH = '/mcp';

export function defineProtect(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('protect')
    .summary('put authorization in front of an MCP server that has none')
    .argument('<server...>', 'URL of an MCP server over HTTP, or after -- the command of one over stdio')
    .usage('[options] <url>\n       portcullis protect [options] -- <command...>')
    .description(
      'Runs an authorization server and a gateway in one process, with the MCP server behind it at /mcp. It needs no ' +
        'change, and must not be reachable in any other way. It is tried first: a command has to start and initialize before ' +
        'anything is served; a URL that does not answer is reported.',
    );
  for (const name of settingNames.filter((name) => hasFlag(name) && name !== 'app'))
    command.addOption(optionOf(name));
  command
    .option(...VERBOSE)
    .addHelpText(
      'after',
      '\nExamples:\n  portcullis protect http://127.0.0.1:3000/mcp\n  portcullis protect -- npx -y @modelcontextprotocol/server-everything\n\nSeveral servers, credentials, policies: docs/gateway.md',
    );
  command.action((words: readonly string[], flags: UpFlags) => {
    const { environment } = processContext;
    const publicUrl = flags.publicUrl ?? environment[variableOf('publicUrl')];
    const servers = JSON.stringify([{ path: PATH, ...describe(words, publicUrl) }]);
    return up(flags, {
      ...processContext,
      requiresBackends: true,
      environment: { ...environment, [variableOf('servers')]: servers },
    });
  });
}

/**
 * @param publicUrl the name of a server with a URL: users of a public server do not know its internal address
 * @throws SettingsError if the target is neither a URL nor a command
 */
function describe(
  words: readonly string[],
  publicUrl: string | undefined,
): { readonly name: string; readonly backend: object } {
  const [first = '', ...rest] = words;
  const url = /^https?:\/\//i.test(first) ? URL.parse(first) : null;
  if (url === null) {
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(first))
      throw new SettingsError([`${first} must be an http or https URL, or after -- a command`]);
    return { name: nameOfCommand(words), backend: { command: words } };
  }
  if (rest.length > 0)
    throw new SettingsError([
      `${rest[0]}: protect takes one URL; several servers go into the configuration file`,
    ]);
  return { name: (URL.parse(publicUrl ?? '') ?? url).host, backend: { url: first } };
}

/** `env LEVEL=1 npx -y @modelcontextprotocol/server-everything stdio` → `server-everything` */
function nameOfCommand(command: readonly string[]): string {
  const isEnvironment = (word: string) => /(?:^|\/)env$|^\w+=/.test(word);
  const words = command.slice(
    Math.max(
      0,
      command.findIndex((word) => !isEnvironment(word)),
    ),
  );
  const [file = ''] = words;
  const named = words.slice(1).find((word) => !word.startsWith('-')) ?? file;
  const isPackageRunner = /(?:^|\/)(?:npx|bunx|uvx|pnpx|node|deno|python3?)$/.test(file);
  return (
    (isPackageRunner ? named : file)
      .replace(/@[\d.]+$|\.[cm]?[jt]s$|\.py$/, '')
      .split('/')
      .at(-1) || file
  );
}
