#!/usr/bin/env node
/** The command `portcullis`. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { exitCodeOf } from './client/exit-codes.ts';
import { defineAccounts } from './commands/accounts.ts';
import { defineCall } from './commands/call.ts';
import { defineClients } from './commands/clients.ts';
import { defineCompletion } from './commands/completion.ts';
import { defineConnect } from './commands/connect.ts';
import { defineConnections } from './commands/connections.ts';
import { defineDoctor } from './commands/doctor.ts';
import { defineEvents } from './commands/events.ts';
import { defineKeys } from './commands/keys.ts';
import { defineLogin } from './commands/login.ts';
import { defineLogout } from './commands/logout.ts';
import { defineMigrate } from './commands/migrate.ts';
import { defineToken } from './commands/token.ts';
import { defineTools } from './commands/tools.ts';
import { defineUp } from './commands/up.ts';
import { defineUsers } from './commands/users.ts';
import { reasonOf, SettingsError } from './faults.ts';
import type { Surroundings } from './surroundings.ts';

/** Every command is a file that adds itself to the program. */
const commands: readonly ((program: Command, surroundings: Surroundings) => void)[] = [
  defineUp,
  defineUsers,
  defineClients,
  defineConnections,
  defineKeys,
  defineEvents,
  defineMigrate,
  defineLogin,
  defineLogout,
  defineAccounts,
  defineToken,
  defineTools,
  defineCall,
  defineConnect,
  defineDoctor,
  defineCompletion,
];

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
for (const define of commands) define(program, surroundings);

try {
  await program.parseAsync();
} catch (error) {
  const lines = error instanceof SettingsError ? error.faults : [reasonOf(error)];
  for (const line of lines.filter((line) => line !== '')) surroundings.complain(line);
  process.exit(exitCodeOf(error));
}
