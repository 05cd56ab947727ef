/** `portcullis config`: the JSON Schema of the configuration file, and its validation without starting anything. */
import type { Command } from 'commander';
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
      'Checks a configuration file together with the environment variables, without starting anything: every issue on a line, and exit code 1 if there is any.',
    )
    .action(async (file: string | undefined) => {
      const { nameOf, warnings } = await prepare({
        flags: file === undefined ? {} : { config: file },
        environment,
        folder,
      });
      for (const warning of warnings) complain(warning);
      write(`${file ?? environment['PORTCULLIS_CONFIG'] ?? nameOf('config')}: no issues.\n`);
    });
}
