/** `portcullis policy`: explains decisions of the access policy, tests them, and lists who may do something. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { testCases } from './policy/cases.ts';
import { explain } from './policy/explain.ts';
import { whoCan } from './policy/who-can.ts';
import { addSubcommand } from './subcommand.ts';

export function definePolicy(program: Command, processContext: ProcessContext): void {
  const group = program.command('policy').summary('explain and test the access policy of the servers');
  withOperation(
    addSubcommand(
      group,
      'explain',
      'explain what is decided about an operation, and by which rule',
      'The user, their groups and the scopes of their connection are those of the database. Nothing is called.',
    ),
  )
    .option('--user <account>', 'email address or ID of an account; without it, the request has no token')
    .option('--client <id>', '`client_id` of the app that sends the request')
    .option(
      '--scopes <list>',
      'scopes of the token; by default those of the connection, or all that the user can be granted',
    )
    .option('--claims <json>', 'further claims of the token, such as {"acr":"2fa"}')
    .option('--arguments <json>', 'arguments of the call')
    .option('--network <address>', 'network address of the client')
    .option('--json', 'as JSON')
    .action((flags) => explain(flags, processContext));
  withOperation(
    addSubcommand(
      group,
      'who-can',
      'list the users who may perform an operation, and their groups',
      'For each account that can sign in, with every scope that it can be granted. What depends on arguments or on the sign-in is named.',
    ),
  )
    .option('--client <id>', '`client_id` of the app that they use')
    .option('--json', 'as JSON')
    .action((flags) => whoCan(flags, processContext));
  addSubcommand(
    group,
    'test',
    'decide about the cases of a file, and show each that is decided otherwise than expected',
    'Needs no database. Exit code 1 if a case differs.',
  )
    .argument('<file>', 'JSON file with a list of cases')
    .action((file: string, flags: object) => testCases(file, flags, processContext));
}

function withOperation(command: Command): Command {
  return command
    .requiredOption('--server <path>', 'path of the server')
    .option('--tool <name>', 'tool that is called')
    .option('--prompt <name>', 'prompt that is read')
    .option('--resource <uri>', 'resource that is read')
    .option('--method <name>', 'any other method');
}
