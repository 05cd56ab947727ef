/** The command line: lists the commands and runs one. */
import { Command, CommanderError } from 'commander';
import { reasonOf, SettingsError } from './errors.ts';
import type { ProcessContext } from './process-context.ts';
import { cleanLine } from './terminal/clean.ts';

type Define = (program: Command, processContext: ProcessContext) => void;

/** Each command's module adds it to the program. */
const commands: Readonly<Record<string, () => Promise<Define>>> = {
  protect: async () => (await import('./server/protect.ts')).defineProtect,
  up: async () => (await import('./server/up.ts')).defineUp,
  status: async () => (await import('./admin/status.ts')).defineStatus,
  open: async () => (await import('./admin/status.ts')).defineOpen,
  config: async () => (await import('./admin/config.ts')).defineConfig,
  servers: async () => (await import('./admin/servers.ts')).defineServersCommand,
  policy: async () => (await import('./admin/policy.ts')).definePolicy,
  access: async () => (await import('./admin/policy/access.ts')).defineAccess,
  'identity-providers': async () => (await import('./admin/identity-providers.ts')).defineIdentityProviders,
  groups: async () => (await import('./admin/groups.ts')).defineGroups,
  users: async () => (await import('./admin/users.ts')).defineUsers,
  scim: async () => (await import('./admin/scim.ts')).defineScim,
  clients: async () => (await import('./admin/clients.ts')).defineClients,
  connections: async () => (await import('./admin/connections.ts')).defineConnections,
  approvals: async () => (await import('./admin/approvals.ts')).defineApprovals,
  keys: async () => (await import('./admin/keys.ts')).defineKeys,
  events: async () => (await import('./admin/events.ts')).defineEvents,
  statistics: async () => (await import('./admin/statistics.ts')).defineStatistics,
  streams: async () => (await import('./admin/streams.ts')).defineStreams,
  webhooks: async () => (await import('./admin/webhooks.ts')).defineWebhooks,
  mail: async () => (await import('./admin/mail.ts')).defineMail,
  migrate: async () => (await import('./admin/migrate.ts')).defineMigrate,
  login: async () => (await import('./commands/login.ts')).defineLogin,
  logout: async () => (await import('./commands/logout.ts')).defineLogout,
  sessions: async () => (await import('./commands/sessions.ts')).defineSessions,
  token: async () => (await import('./commands/token.ts')).defineToken,
  tools: async () => (await import('./commands/tools.ts')).defineTools,
  call: async () => (await import('./commands/call.ts')).defineCall,
  connect: async () => (await import('./commands/connect.ts')).defineConnect,
  doctor: async () => (await import('./doctor/doctor.ts')).defineDoctor,
  completion: async () => (await import('./commands/completion.ts')).defineCompletion,
};

/** Adds commands to the program; all by default. */
export async function defineCommands(
  program: Command,
  processContext: ProcessContext,
  names: readonly string[] = Object.keys(commands),
): Promise<void> {
  for (const name of names) (await commands[name]?.())?.(program, processContext);
}

/**
 * Runs a command line and reports its errors.
 * @param args without the name of the program
 * @returns the exit code; `null` on success
 */
export async function run(args: readonly string[], processContext: ProcessContext): Promise<number | null> {
  const program = createProgram(processContext);
  try {
    // Only the requested command is loaded: a bridge starts in half the time without the server's code.
    const remote = readRemote(args);
    if (remote !== null) {
      const { defineRemote, remoteNames } = await import('./remote/remote.ts');
      const local = new Command();
      await defineCommands(local, processContext, remoteNames);
      defineRemote(program, local, processContext, remote.server);
      await program.parseAsync(remote.args, { from: 'user' });
      return null;
    }
    const [word = ''] = args;
    const requested = Object.hasOwn(commands, word) && word !== 'completion' ? [word] : undefined;
    await defineCommands(program, processContext, requested);
    await program.parseAsync(args, { from: 'user' });
    return null;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Commander has already printed the error or the help.
      for (const line of adviceOnUsage(error, program, args))
        processContext.streams.errors.write(`${line}\n`);
      return error.exitCode;
    }
    // Loaded only on failure, so that a server does not load client code at startup.
    const { exitCodeOf, hintFor } = await import('./client/exit-codes.ts');
    const lines = error instanceof SettingsError ? error.issues : [reasonOf(error), hintFor(error, args)];
    for (const line of lines.filter((line) => line !== '')) processContext.complain(line);
    return exitCodeOf(error);
  }
}

/** `--server <url>` before a command: it acts on that server through its admin API. */
function readRemote(
  args: readonly string[],
): { readonly server: string; readonly args: readonly string[] } | null {
  const [first = '', second = ''] = args;
  if (first === REMOTE) return { server: second, args: args.slice(2) };
  return first.startsWith(`${REMOTE}=`)
    ? { server: first.slice(REMOTE.length + 1), args: args.slice(1) }
    : null;
}

const REMOTE = '--server';

/** How to write the command, when an argument is missing or an option of the protected command was read as one of this program. */
function adviceOnUsage(
  { code }: CommanderError,
  program: Command,
  args: readonly string[],
): readonly string[] {
  const [name = '', ...words] = args;
  if (code === 'commander.unknownOption' && name === 'protect' && /^[^-]/.test(words[0] ?? ''))
    return [
      `To protect a command, put -- before it: ${program.name()} protect -- ${cleanLine(words.join(' '))}`,
    ];
  if (code !== 'commander.missingArgument') return [];
  let command = program;
  for (const word of args) command = command.commands.find((one) => one.name() === word) ?? command;
  const usage = command.createHelp().commandUsage(command);
  return [`Usage: ${usage}`, `${usage.split(' [')[0]} --help shows options and examples`];
}

function createProgram({ version, write, complain, streams }: ProcessContext): Command {
  return new Command('portcullis')
    .description(
      'Authorization for MCP servers: an authorization server, a guard and a client in one program.',
    )
    .version(version)
    .addHelpText(
      'after',
      `\n${REMOTE} <url> before a command administers another server: ${REMOTE} https://auth.example.com --help`,
    )
    .configureOutput({
      writeOut: write,
      writeErr: (text) => streams.errors.write(text),
      outputError: (text) => complain(text.replace(/^error: /, '').replace(/\n$/, '')),
    })
    .exitOverride();
}
