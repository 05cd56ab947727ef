/** Which commands act on a remote server: all, or a reason why not, in the program and in its guide. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { defineCommands } from '../src/program.ts';
import { at } from '../src/remote/command.ts';
import { remoteCommands } from '../src/remote/commands.ts';
import { LOCAL_COMMANDS } from '../src/remote/local-commands.ts';
import { defineRemote } from '../src/remote/remote.ts';
import { createContext } from './support/in-process.ts';

const { processContext: context } = createContext({ environment: {}, folder: '.' });
const local = new Command();
await defineCommands(local, context);
const remote = new Command();
defineRemote(remote, local, context, 'https://auth.example.com');

/** The commands that do something, by their words. */
function leavesOf(command: Command, words = ''): readonly (readonly [string, Command])[] {
  return command.commands.flatMap((one) => {
    const own = `${words} ${one.name()}`.trim();
    return one.commands.length === 0 ? [[own, one] as const] : leavesOf(one, own);
  });
}

const localCommands = new Map(leavesOf(local));
const remoteOnes = new Map(leavesOf(remote));

it.each(['.', '..'])('an argument %j does not change the path of a request', (text) => {
  expect(() => at(text)).toThrow(`${text} is not an identifier`);
  expect(new URL(at(`${text}x`), 'https://auth.example.com/clients/').pathname).toBe(`/clients/${text}x`);
});

describe('the commands that act on a remote server', () => {
  it('are all of the program, but for those with a reason', () => {
    const reached = [...Object.keys(remoteCommands), ...Object.keys(LOCAL_COMMANDS)];
    expect(reached.toSorted()).toEqual([...localCommands.keys()].toSorted());
  });

  it.each(Object.keys(remoteCommands))('%s has the options that it has beside the database', (words) => {
    const optionsOf = (command: Command | undefined) =>
      command?.options
        .filter(({ description }) => !/\[PORTCULLIS_\w+, /.test(description))
        .map(({ long }) => long ?? '') ?? [];
    const known = [...optionsOf(remoteOnes.get(words)), ...(remoteCommands[words]?.without ?? [])];
    expect(optionsOf(localCommands.get(words)).filter((option) => !known.includes(option))).toEqual([]);
  });

  it.each(Object.keys(remoteCommands))('%s takes as many arguments as beside the database', (words) => {
    const count = (command: Command | undefined) =>
      command
        ?.createHelp()
        .subcommandTerm(command)
        .match(/<|\[(?!options)/g)?.length ?? 0;
    expect(count(remoteOnes.get(words))).toBe(count(localCommands.get(words)));
  });

  it('are listed in the guide, with the others and their reasons', () => {
    const guide = readFileSync(new URL('../../../docs/guides/admin-api.md', import.meta.url), 'utf8');
    const rows = guide.split('\n').filter((line) => line.startsWith('| `'));
    const named = (row: string) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([a-z][a-z -]*)`/g)].map(([, words = '']) => words);
    const section = rows.filter((row) => named(row).every((words) => localCommands.has(words)));
    expect(section.flatMap(named).toSorted()).toEqual([...localCommands.keys()].toSorted());
    for (const [words, reason] of Object.entries(LOCAL_COMMANDS)) {
      const row = section.find((one) => named(one).includes(words)) ?? '';
      expect([words, row.split('|')[2]?.trim()]).toEqual([words, reason]);
    }
  });
});
