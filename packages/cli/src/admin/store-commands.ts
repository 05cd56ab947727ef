/** Commands that work on the store of an installation: each opens it, runs a task, and prints what that returns. */
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import type { SettingName, Settings } from '../settings/schema.ts';
import { cleanJson } from '../terminal/clean.ts';
import { findInstallation } from './installation.ts';
import { addSubcommand } from './subcommand.ts';
import { type Tools, withStore } from './with-store.ts';

/** What a task works with. */
export interface StoreTask<Flags> extends Tools {
  readonly settings: Settings;
  readonly flags: Flags;
  readonly args: readonly string[];
  readonly processContext: ProcessContext;
}

/** Text, or with `--json` the value in its place. */
export type Output = string | { readonly json: unknown; readonly text: string };

interface AboutCommand {
  readonly name: string;
  readonly summary: string;
  /** Further sentences for its help. */
  readonly more?: string | undefined;
  readonly settings?: readonly SettingName[] | undefined;
}

export function addStoreCommand<Flags extends object>(
  group: Command,
  processContext: ProcessContext,
  { name, summary, more, settings: options }: AboutCommand,
  run: (task: StoreTask<Flags>) => Promise<Output>,
): Command {
  const command = addSubcommand(group, name, summary, more, options);
  return command.action(async () => {
    const flags: Flags & { readonly json?: true } = command.opts();
    const installation = await findInstallation(flags, processContext);
    const { settings } = installation;
    const output = await withStore(installation, (tools) =>
      run({ ...tools, settings, flags, args: command.args, processContext }),
    );
    processContext.write(formatOutput(output, flags));
  });
}

/**
 * The same for several commands of a group.
 * @param prepare completes what their tasks work with
 */
export function storeCommands<Flags extends object, Task>(
  group: Command,
  processContext: ProcessContext,
  prepare: (task: StoreTask<Flags>) => Task,
  settings?: readonly SettingName[],
) {
  return (name: string, summary: string, run: (task: Task) => Promise<Output>, more?: string): Command =>
    addStoreCommand<Flags>(group, processContext, { name, summary, more, settings }, (task) =>
      run(prepare(task)),
    );
}

export function formatOutput(output: Output, { json }: { readonly json?: true }): string {
  if (typeof output === 'string') return output;
  return json ? `${cleanJson(output.json)}\n` : output.text;
}
