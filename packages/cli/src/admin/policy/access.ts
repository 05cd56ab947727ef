/** `portcullis access`: what a user, or the members of a group, may call, and by which rules. */
import { findAccess, findGroups, type ServerAccess } from '@portcullis/admin/operations';
import type { Command } from 'commander';
import type { ProcessContext } from '../../process-context.ts';
import { cleanJson, cleanLine } from '../../terminal/clean.ts';
import { columns } from '../../terminal/columns.ts';
import { findServers, withPolicySources } from '../configured-servers.ts';
import { addSubcommand } from '../subcommand.ts';

interface AccessFlags {
  readonly user?: string;
  readonly group?: string;
  readonly client?: string;
  readonly json?: true;
}

export function defineAccess(program: Command, processContext: ProcessContext): void {
  const command = addSubcommand(
    program,
    'access',
    'list what a user or a group may call, and what refuses the rest',
    'Without --user and --group: what needs no access token. Tools are those that the gateway has seen, and the patterns of the configuration for others. `policy explain` shows each rule of one.',
  );
  command
    .option('--user <account>', 'email address or ID of an account')
    .option('--group <name>', 'name of a group; other claims of its members are taken as unknown')
    .option('--client <id>', '`client_id` of the app that they use')
    .option('--json', 'as JSON')
    .action((flags: AccessFlags) => showAccess(flags, processContext));
}

async function showAccess(flags: AccessFlags, processContext: ProcessContext): Promise<void> {
  const { group } = flags;
  const configured = await findServers(flags, processContext);
  const found = await withPolicySources(configured, async (sources) => {
    if (group !== undefined && !(await findGroups(sources.accounts)).some(({ name }) => name === group))
      processContext.complain(
        `No user is in the group ${cleanLine(group)} (${processContext.command} groups lists all): this is what its members could call`,
      );
    return findAccess(sources, flags);
  });
  processContext.write(flags.json ? `${cleanJson(found)}\n` : accessText(found, [], { ...flags }));
}

/** @param found the list of the admin API, too */
export function accessText(
  found: unknown,
  _columns: readonly string[] | undefined,
  { user, group }: Readonly<Record<string, unknown>>,
): string {
  const caller =
    typeof user === 'string' ? user : typeof group === 'string' ? `Members of ${group}` : 'Without a token';
  const servers = (found as readonly ServerAccess[]).map(
    ({ server, tools }) => `${cleanLine(server)}\n${columns(tools.map(toolRow))}`,
  );
  return [`${cleanLine(caller)}:\n`, ...servers].join('');
}

/** What is allowed is met by each rule that was considered: the last one is the closest to the tool. */
function toolRow({ tool, outcome, because, rules }: ServerAccess['tools'][number]): readonly string[] {
  const rule = outcome === 'allowed' ? rules.at(-1) : undefined;
  const through = rule === undefined ? '' : ` by ${rule}`;
  return [
    `  ${cleanLine(tool)}`,
    cleanLine(outcome === null ? refusalText(because ?? '') : `${outcome}${through}`),
  ];
}

/** A rule, or what is missing. */
function refusalText(because: string): string {
  return because.startsWith('servers[') ? `refused by ${because}` : because;
}
