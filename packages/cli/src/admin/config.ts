/** `portcullis config`: the JSON Schema of the configuration file, and its validation without starting anything. */
import type { Command } from 'commander';
import { SettingsError } from '../errors.ts';
import type { ProcessContext } from '../process-context.ts';
import { prepare } from '../server/prepare.ts';
import { configurationSchema } from '../settings/describe.ts';

export function defineConfig(
  program: Command,
  { environment, folder, write, complain }: ProcessContext,
): void {
  const group = program
    .command('config')
    .summary('print the JSON Schema of the configuration file, or check a file');
  group
    .command('schema')
    .summary('print the JSON Schema of the configuration file')
    .description(
      'Prints the JSON Schema of the configuration file. Save it and name it in the file as "$schema": editors then complete and check it.',
    )
    .action(() => void write(`${JSON.stringify(configurationSchema(), null, 2)}\n`));
  group
    .command('check')
    .summary('check a configuration file')
    .argument('[file]', 'configuration file; PORTCULLIS_CONFIG by default')
    .description(
      'Checks a configuration file together with the environment variables, without starting anything: every issue on a line, and exit code 1 if there is any. The files and variables of its secrets must be there, as for the server.',
    )
    .action(async (file: string | undefined) => {
      const flags = file === undefined ? {} : { config: file };
      const { nameOf, warnings } = await prepare({ flags, environment, folder }).catch((error: unknown) => {
        throw error instanceof SettingsError ? withoutFlag(error) : error;
      });
      for (const warning of warnings) complain(warning);
      write(`${file ?? environment['PORTCULLIS_CONFIG'] ?? nameOf('config')}: no issues.\n`);
    });
}

/** The file is an argument here. */
function withoutFlag({ issues, cause }: SettingsError): SettingsError {
  return new SettingsError(
    issues.map((issue) => issue.replace(/^--config is (.+?), which /, '$1 ')),
    { cause },
  );
}
