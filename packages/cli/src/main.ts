#!/usr/bin/env node
/** The command `portcullis`. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { exitCodeOf } from './client/exit-codes.ts';
import { reasonOf, SettingsError } from './faults.ts';
import type { Surroundings } from './surroundings.ts';

type Define = (program: Command, surroundings: Surroundings) => void;

/** Every command is a file that adds itself to the program. */
const commands: Readonly<Record<string, () => Promise<Define>>> = {
  up: async () => (await import('./commands/up.ts')).defineUp,
  users: async () => (await import('./commands/users.ts')).defineUsers,
  clients: async () => (await import('./commands/clients.ts')).defineClients,
  connections: async () => (await import('./commands/connections.ts')).defineConnections,
  keys: async () => (await import('./commands/keys.ts')).defineKeys,
  events: async () => (await import('./commands/events.ts')).defineEvents,
  migrate: async () => (await import('./commands/migrate.ts')).defineMigrate,
  login: async () => (await import('./commands/login.ts')).defineLogin,
  logout: async () => (await import('./commands/logout.ts')).defineLogout,
  accounts: async () => (await import('./commands/accounts.ts')).defineAccounts,
  token: async () => (await import('./commands/token.ts')).defineToken,
  tools: async () => (await import('./commands/tools.ts')).defineTools,
  call: async () => (await import('./commands/call.ts')).defineCall,
  connect: async () => (await import('./commands/connect.ts')).defineConnect,
  doctor: async () => (await import('./commands/doctor.ts')).defineDoctor,
  completion: async () => (await import('./commands/completion.ts')).defineCompletion,
};

const manifest: { readonly version: string } = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
);

const surroundings: Surroundings = {
  environment: process.env,
  folder: process.cwd(),
  streams: { input: process.stdin, output: process.stdout, errors: process.stderr },
  write: (text) => process.stdout.write(text),
  complain: (line) => process.stderr.write(`portcullis: ${line}\n`),
  styled: process.stdout.isTTY && process.stdout.hasColors(),
  version: manifest.version,
  // Run from its sources it is a script of the clone; built, a command of whoever installed it.
  command: import.meta.url.endsWith('.ts') ? 'npm run portcullis --' : 'npx portcullis',
};

const program = new Command('portcullis')
  .description('Authorization for MCP servers: an authorization server, a guard and a client in one program.')
  .version(manifest.version)
  .configureOutput({ outputError: (text, write) => write(`portcullis: ${text.replace(/^error: /, '')}`) });

try {
  // Only what is asked for is loaded: a bridge does not start a server's code, and starts in half the time.
  const [word = ''] = process.argv.slice(2);
  const asked = Object.hasOwn(commands, word) && word !== 'completion' ? [word] : Object.keys(commands);
  for (const name of asked) (await commands[name]?.())?.(program, surroundings);
  await program.parseAsync();
} catch (error) {
  const lines = error instanceof SettingsError ? error.faults : [reasonOf(error)];
  for (const line of lines.filter((line) => line !== '')) surroundings.complain(line);
  process.exit(exitCodeOf(error));
}
