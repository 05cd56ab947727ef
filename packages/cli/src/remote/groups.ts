/** `groups` of a remote server. */
import { SettingsError } from '../errors.ts';
import { isObject } from '../json.ts';
import { cleanJson, cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import type { RemoteTask } from './command.ts';
import { cellOf } from './describe.ts';

export async function listGroups({ api, args: [named], flags, terminal }: RemoteTask): Promise<void> {
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
