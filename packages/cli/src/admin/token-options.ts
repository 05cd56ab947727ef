/** Options of commands that create a bearer token for another program. */
import { type Command, InvalidArgumentError } from 'commander';

/** @param days by default */
export function addTokenOptions(command: Command, days: number): Command {
  return command
    .option('--days <number>', 'days until it expires', readDays, days)
    .option('--note <text>', 'what it is for, shown in the list', readNote, '');
}

function readDays(text: string): number {
  if (/^\d{1,3}$/.test(text) && Number(text) >= 1) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 to 999.');
}

function readNote(text: string): string {
  if (text.length <= 200) return text;
  throw new InvalidArgumentError('It must have at most 200 characters.');
}
