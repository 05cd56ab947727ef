/** `portcullis up`: an authorization server and what it protects in one process. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { optionOf } from '../settings/command-options.ts';
import { describeMembers } from '../settings/describe.ts';
import {
  defaultOf,
  hasFlag,
  type SettingName,
  settingDefinitions,
  settingNames,
} from '../settings/schema.ts';
import { prepare } from './prepare.ts';
import { takeSlot } from './processes/membership.ts';
import { processCount } from './processes/process-count.ts';
import { watchConfiguration } from './reload.ts';
import { start } from './start.ts';
import { untilStopSignal } from './stop-signal.ts';

/** Milliseconds after which processes that have not ended are killed. */
const LAST_EXIT = 5_000;

export function defineUp(program: Command, processContext: ProcessContext): void {
  const command = program
    .command('up')
    .summary('run an authorization server, with a gateway in front of MCP servers')
    .description(
      'Runs an authorization server and, from the configuration file (--config), a gateway in front of MCP servers ' +
        '(servers) and tokens for servers elsewhere (resources); with --app, also an MCP server in the same process.',
    );
  for (const name of settingNames.filter(hasFlag)) command.addOption(optionOf(name));
  // Composed when it is printed: it describes the schema of every setting.
  command.option(...VERBOSE).addHelpText('after', () => `\n${structuredHelp()}`);
  command.action((flags: UpFlags) => up(flags, processContext));
}

/** The option of the banner, which is no setting. */
export const VERBOSE = [
  '--verbose',
  'print every address at startup, and how to connect each kind of client',
] as const;

export type UpFlags = Readonly<Partial<Record<SettingName, string>>> & { readonly verbose?: true };

/** Milliseconds after which a replaced process closes its remaining connections: idle ones time out earlier. */
const RETIREMENT = 70_000;

/** Runs the server until it is stopped. */
export async function up({ verbose, ...flags }: UpFlags, given: ProcessContext): Promise<void> {
  const { membership, processContext } = takeSlot({ ...given, isVerbose: verbose === true });
  const { environment, folder } = processContext;
  const stopSignal = membership?.stopped ?? untilStopSignal(environment);
  // Files written from here on, also by the application, are readable by this user only.
  process.umask(0o077);
  let isServing = false;
  // A start may wait for a command, a database or an import, and has nothing to complete: it is not waited for.
  void stopSignal.then(() => isServing || process.exit(0));
  const prepared = await prepare({ flags, environment, folder });
  const { settings } = prepared;
  const drain = settings.drain * 1000;
  const grace = settings.shutdownTimeout * 1000;
  if (membership === null && processCount(settings) > 1) {
    isServing = true;
    const { runProcesses } = await import('./processes/run-processes.ts');
    process.exit(await runProcesses(prepared, processContext, stopSignal, drain + grace + LAST_EXIT));
  }
  const starting = start(prepared, processContext, membership);
  // Before the start has ended: a signal that arrives between the banner and a later listener would end the process.
  const stopWatching = watchConfiguration({ flags, environment, folder }, prepared, starting, processContext);
  const running = await starting;
  isServing = true;
  const reason = await Promise.race([stopSignal, ...(membership === null ? [] : [membership.retired])]);
  stopWatching();
  // A user at a terminal need not wait: load balancers are behind supervisors, which send SIGTERM.
  if (reason === 'SIGTERM') await running.drain(drain);
  if (reason !== 'retired') await running.stop(grace);
  else {
    const retirement = running.stop(RETIREMENT, 'kept').then(() => membership?.leave());
    await Promise.race([retirement, stopSignal.then(() => running.stop(grace))]);
  }
  process.exit(0);
}

/** Columns of the help text. */
const WIDTH = 118;

/** The section of `portcullis up --help` on settings without a flag. */
function structuredHelp(): string {
  const names = settingNames.filter((name) => !hasFlag(name));
  return [
    'Flags win over environment variables, which win over the configuration file.',
    'The file holds settings by their names in camelCase (publicUrl, keyFile), and those below. Each also has a variable',
    '(PORTCULLIS_METADATA_DOCUMENTS) that holds it as JSON. All of them with examples: docs/configuration.md',
    '',
    ...names.flatMap((name) => {
      const { description, schema } = settingDefinitions[name];
      return [
        ...wrap(plain(`  ${name}: ${description} [${defaultOf(name)}]`), 4),
        ...describeMembers(schema())
          .filter((member) => !member.name.includes('.'))
          .flatMap((member) =>
            wrap(plain(`      ${member.name}: ${member.description} [${member.default}]`), 8),
          ),
      ];
    }),
  ].join('\n');
}

function plain(line: string): string {
  return line.replaceAll('`', '');
}

function wrap(line: string, indent: number): readonly string[] {
  if (line.length <= WIDTH) return [line];
  const cut = line.lastIndexOf(' ', WIDTH);
  return [line.slice(0, cut), ...wrap(`${' '.repeat(indent)}${line.slice(cut + 1)}`, indent)];
}
