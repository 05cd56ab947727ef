/** `portcullis --server <url> …`: administration commands that act on a remote server through its admin API. */
import { Command, Option } from 'commander';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { withClient } from '../client/open-client.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { flagOf, hasFlag, settingNames, variableOf } from '../settings/schema.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { apiOf, createAdminApi } from './admin-api.ts';
import { type RemoteCommand, type RemoteFlags, requestOf } from './command.ts';
import { remoteCommands } from './commands.ts';
import { describeResponse } from './describe.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';

/** The commands of the program, with their groups, that `defineRemote` defines again. */
export const remoteNames: readonly string[] = [
  ...new Set(Object.keys(remoteCommands).map((words) => words.split(' ', 1)[0] ?? '')),
];

/**
 * @param local the same commands beside a database: they share arguments, options and help
 * @param server origin of the server, as typed
 * @throws SettingsError
 */
export function defineRemote(
  program: Command,
  local: Command,
  processContext: ProcessContext,
  server: string,
): void {
  const api = apiOf(server);
  program.description(`Administers ${cleanLine(server)} through its admin API, signed in as an operator.`);
  for (const [words, remote] of Object.entries(remoteCommands)) {
    const { command, beside } = commandAt(program, local, words.split(' '));
    if (remote.description !== undefined) command.description(remote.description);
    for (const argument of beside?.registeredArguments ?? []) command.addArgument(argument);
    for (const [flags, about] of remote.options ?? []) command.option(flags, about);
    const isOffered = (option: Option) => !isSetting(option) && !remote.without?.includes(option.long ?? '');
    addMissing(command, beside?.options.filter(isOffered) ?? []);
    if (isChange(remote)) addMissing(command, [new Option('--reason <text>', 'why, for the audit log')]);
    const own = new Set(command.options.map(({ long }) => long));
    addMissing(command, addJsonOption(addSignInOptions(new Command())).options);
    command.action(() => run(api, remote, command, processContext, own));
  }
  for (const [words, reason] of Object.entries(LOCAL_COMMANDS))
    commandAt(program, local, words.split(' '), true)
      .command.allowUnknownOption()
      .argument('[words...]')
      .action(() => {
        throw new SettingsError([`${words} does not act on another server: ${reason}`]);
      });
}

/** Whether an option finds the database. Options of commands may have the name of a setting, as `--name` has. */
function isSetting({ long, description }: Option): boolean {
  return settingNames.some(
    (name) => hasFlag(name) && flagOf(name) === long && description.includes(`[${variableOf(name)}, `),
  );
}

function isChange(remote: RemoteCommand): boolean {
  const request = 'request' in remote && typeof remote.request === 'string' ? remote.request : 'GET ';
  return remote.isChange ?? !request.startsWith('GET ');
}

/** Adds the options whose names the command has not. */
function addMissing(command: Command, options: readonly Option[]): void {
  const known = command.options.map(({ long }) => long);
  for (const option of options) if (!known.includes(option.long)) command.addOption(option);
}

/** The command of these words, in its groups, and the one beside the database. */
function commandAt(
  above: Command,
  local: Command | undefined,
  [name = '', ...inner]: readonly string[],
  hidden = false,
): { readonly command: Command; readonly beside: Command | undefined } {
  const named = (one: Command) => one.name() === name;
  const beside = local?.commands.find(named);
  const [summary = '', description = summary] = [beside?.summary(), beside?.description() || undefined];
  const command =
    above.commands.find(named) ?? above.command(name, { hidden }).summary(summary).description(description);
  return inner.length === 0 ? { command, beside } : commandAt(command, beside, inner, hidden);
}

async function run(
  api: string,
  remote: RemoteCommand,
  command: Command,
  processContext: ProcessContext,
  own: ReadonlySet<string | undefined>,
): Promise<void> {
  const flags: SignInFlags & RemoteFlags = command.opts();
  const { args } = command;
  await withClient(api, signInFlags(flags, own), processContext, async ({ client, terminal }) => {
    const adminApi = createAdminApi(client, api, isChange(remote) ? flags['reason'] : undefined);
    terminal.during('Waiting for the server');
    if ('act' in remote) return remote.act({ api: adminApi, args, flags, terminal, processContext });
    const found = await adminApi.send(requestOf(remote, args, flags));
    const { columns, text = describeResponse } = remote;
    terminal.print(flags.json ? `${cleanJson(found)}\n` : text(found, columns, flags));
  });
}

/** Without options that mean something else for the command: the `--scope` of a client is not that of the sign-in. */
function signInFlags(flags: SignInFlags & RemoteFlags, own: ReadonlySet<string | undefined>): SignInFlags {
  const { scope, clientName, ...others } = flags;
  return {
    ...others,
    ...(!own.has('--scope') && scope !== undefined && { scope }),
    ...(!own.has('--client-name') && clientName !== undefined && { clientName }),
  };
}
