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

/**
 * Commands of a group.
 * @param prepare completes what their tasks work with
 * @param settings of the commands; by default those of all that need only the database
 * @returns a function that adds one. `more`: further sentences for its help
 */
export function storeCommands<Flags extends object, Task>(
  group: Command,
  processContext: ProcessContext,
  prepare: (task: StoreTask<Flags>) => Task,
  settings?: readonly SettingName[],
) {
  return (name: string, summary: string, run: (task: Task) => Promise<Output>, more?: string): Command => {
    const command = addSubcommand(group, name, summary, more, settings);
    return command.action(async () => {
      const flags: Flags & { readonly json?: true } = command.opts();
      const installation = await findInstallation(flags, processContext);
      const output = await withStore(installation, (tools) => {
        const { args } = command;
        return run(prepare({ ...tools, settings: installation.settings, flags, args, processContext }));
      });
      processContext.write(formatOutput(output, flags));
    });
  };
}

export function formatOutput(output: Output, { json }: { readonly json?: unknown }): string {
  if (typeof output === 'string') return output;
  return json ? `${cleanJson(output.json)}\n` : output.text;
}
