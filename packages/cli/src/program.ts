/** A command line of `portcullis`: which commands there are, and how one of them is run. */
import { Command, CommanderError } from 'commander';
import { reasonOf, SettingsError } from './errors.ts';
import type { Surroundings } from './surroundings.ts';

type Define = (program: Command, surroundings: Surroundings) => void;

/** Every command is a file that adds itself to the program. */
const commands: Readonly<Record<string, () => Promise<Define>>> = {
  up: async () => (await import('./commands/up.ts')).defineUp,
  config: async () => (await import('./commands/config.ts')).defineConfig,
  users: async () => (await import('./commands/users.ts')).defineUsers,
  clients: async () => (await import('./commands/clients.ts')).defineClients,
  connections: async () => (await import('./commands/connections.ts')).defineConnections,
  keys: async () => (await import('./commands/keys.ts')).defineKeys,
  events: async () => (await import('./commands/events.ts')).defineEvents,
  migrate: async () => (await import('./commands/migrate.ts')).defineMigrate,
  login: async () => (await import('./commands/login.ts')).defineLogin,
  logout: async () => (await import('./commands/logout.ts')).defineLogout,
  sessions: async () => (await import('./commands/sessions.ts')).defineSessions,
  token: async () => (await import('./commands/token.ts')).defineToken,
  tools: async () => (await import('./commands/tools.ts')).defineTools,
  call: async () => (await import('./commands/call.ts')).defineCall,
  connect: async () => (await import('./commands/connect.ts')).defineConnect,
  doctor: async () => (await import('./commands/doctor.ts')).defineDoctor,
  completion: async () => (await import('./commands/completion.ts')).defineCompletion,
};

/**
 * Runs a command line to its end. Whatever is wrong has been said then.
 * @param words without the name of the program
 * @returns the exit code that the process has to end with; `null` when all is well
 */
export async function run(words: readonly string[], surroundings: Surroundings): Promise<number | null> {
  try {
    const program = createProgram(surroundings);
    // Only what is asked for is loaded: a bridge does not start a server's code, and starts in half the time.
    const [word = ''] = words;
    const asked = Object.hasOwn(commands, word) && word !== 'completion' ? [word] : Object.keys(commands);
    for (const name of asked) (await commands[name]?.())?.(program, surroundings);
    await program.parseAsync(words, { from: 'user' });
    return null;
  } catch (error) {
    // It has said by itself what was wrong, or what was asked.
    if (error instanceof CommanderError) return error.exitCode;
    // It knows the failures of clients, which a server need not load to start.
    const { exitCodeOf, hintOn } = await import('./client/exit-codes.ts');
    const lines = error instanceof SettingsError ? error.issues : [reasonOf(error), hintOn(error)];
    for (const line of lines.filter((line) => line !== '')) surroundings.complain(line);
    return exitCodeOf(error);
  }
}

function createProgram({ version, write, complain, streams }: Surroundings): Command {
  return new Command('portcullis')
    .description(
      'Authorization for MCP servers: an authorization server, a guard and a client in one program.',
    )
    .version(version)
    .configureOutput({
      writeOut: write,
      writeErr: (text) => streams.errors.write(text),
      outputError: (text) => complain(text.replace(/^error: /, '').replace(/\n$/, '')),
    })
    .exitOverride();
}
