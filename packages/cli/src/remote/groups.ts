/** `groups` of a remote server. */
import { SettingsError } from '../errors.ts';
import { isObject } from '../json.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { type RemoteCommand, type RemoteTask, remote } from './command.ts';
import { cellOf } from './describe.ts';

export const groupsCommand: RemoteCommand = remote(
  'groups',
  'list the groups that users are in, or the members of one',
  { args: [['[group]', 'group whose members are listed']], act: list },
);

async function list({ api, args: [named], flags, terminal }: RemoteTask): Promise<void> {
  const all = await api.list('/groups');
  const groups = named === undefined ? all : all.filter(({ name }) => name === named);
  if (named !== undefined && groups.length === 0)
    throw new SettingsError([`No user is in the group ${cleanLine(named)}: groups lists all`]);
  if (flags['json']) return terminal.print(`${cleanJson(groups)}\n`);
  if (groups.length === 0) return terminal.print('No user is in a group.\n');
  const rows = groups.flatMap(({ name, members }) => {
    const listed = Array.isArray(members) ? members.filter(isObject) : [];
    return named === undefined
      ? [[cellOf(name), `${listed.length} ${listed.length === 1 ? 'user' : 'users'}`]]
      : listed.map(({ email, id }) => [cellOf(email), cellOf(id)]);
  });
  terminal.print(columns(rows));
}
