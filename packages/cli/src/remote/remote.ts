/** `portcullis --server <url> …`: administration commands that act on a remote server through its admin API. */
import { Command } from 'commander';
import { addJsonOption, addSignInOptions, type SignInFlags } from '../client/flags.ts';
import { withClient } from '../client/open-client.ts';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { apiOf, createAdminApi } from './admin-api.ts';
import { type RemoteCommand, type RemoteFlags, requestOf } from './command.ts';
import { remoteCommands } from './commands.ts';
import { describeResponse } from './describe.ts';
import { LOCAL_COMMANDS } from './local-commands.ts';

/** @param server origin of the server, as typed @throws SettingsError */
export function defineRemote(program: Command, processContext: ProcessContext, server: string): void {
  const api = apiOf(server);
  program.description(`Administers ${cleanLine(server)} through its admin API, signed in as an operator.`);
  for (const remote of remoteCommands) {
    const command = commandAt(program, remote.words).description(remote.summary);
    for (const [argument, about] of remote.args ?? []) command.argument(argument, about);
    for (const [flags, about] of remote.options ?? []) command.option(flags, about);
    remote.define?.(command);
    if (remote.isChange) command.option('--reason <text>', 'why, for the audit log');
    const own = new Set(command.options.map(({ long }) => long));
    for (const option of addJsonOption(addSignInOptions(new Command())).options)
      if (!own.has(option.long)) command.addOption(option);
    command.action(() => run(api, remote, command, processContext, own));
  }
  for (const [words, reason] of Object.entries(LOCAL_COMMANDS))
    commandAt(program, words, true)
      .allowUnknownOption()
      .argument('[words...]')
      .action(() => {
        throw new SettingsError([`${words} does not act on another server: ${reason}`]);
      });
}

/** What the commands of each group are about. */
const GROUPS: Readonly<Record<string, string>> = {
  users: 'user accounts, their roles and groups',
  scim: 'tokens of identity providers that provision users',
  clients: 'registered clients, and the tokens with which they register',
  connections: 'which apps may act for which users',
  approvals: 'calls that wait for an approval',
  servers: 'the servers behind the gateway, and the definitions of their tools',
  policy: 'what the access policy decides, and why',
  keys: 'signing keys',
  webhooks: 'webhooks, and the state of their delivery',
  streams: 'streams of security events',
  mail: 'the state of mail, and test messages',
};

/** The command of these words, with the groups that it is in. */
function commandAt(program: Command, words: string, hidden = false): Command {
  const names = words.split(' ');
  const parent = names
    .slice(0, -1)
    .reduce<Command>(
      (above, name) =>
        above.commands.find((one) => one.name() === name) ??
        above.command(name, { hidden }).description(GROUPS[name] ?? ''),
      program,
    );
  return parent.command(names.at(-1) ?? '', { hidden });
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
    const adminApi = createAdminApi(client, api, remote.isChange ? flags['reason'] : undefined);
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
