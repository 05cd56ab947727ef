/** Options of `portcullis events`: which events of the audit log are shown. */
import { type Command, InvalidArgumentError, Option } from 'commander';

/** Options of the filters; all specified filters must match. */
export function addFilterOptions(command: Command): void {
  const filters: readonly (readonly [flags: string, description: string])[] = [
    ['--type <event>', 'only this event, or all below a name: call.finished, token.*'],
    ['--user <account>', 'only those of a user: email address or ID of an account'],
    ['--client <id>', 'only those of a client'],
    ['--grant <id>', 'only those of a connection'],
    ['--server <path>', 'only calls of a server behind the gateway, such as /files'],
    ['--tool <name>', 'only calls of a tool'],
    [
      '--decision <decision>',
      'only calls that were allowed, denied, insufficient_scope, limited, invalid or unapproved',
    ],
    ['--outcome <outcome>', 'only calls that were answered, refused, unavailable, cancelled, …'],
  ];
  for (const [flags, description] of filters) command.option(flags, description);
  command.addOption(sinceOption('only those since this time, such as 2026-03-01T04:00Z, or 15m, 6h, 7d ago'));
}

/** `--since`, as epoch milliseconds. */
export function sinceOption(description: string): Option {
  return new Option('--since <time>', description).argParser(readSince);
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

function readSince(text: string): number {
  const [, count, unit = ''] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const at = count === undefined ? Date.parse(text) : Date.now() - Number(count) * (UNITS[unit] ?? 0);
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a time such as 2026-03-01T04:00Z, or 15m, 6h, 7d.');
  return at;
}
