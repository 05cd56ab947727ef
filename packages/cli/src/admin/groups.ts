/** `portcullis groups`: the groups that accounts are in, and where they come from. */
import { findGroups, type Group } from '@portcullis/admin/operations';
import { createAccountAdministration } from '@portcullis/authorization-server';
import type { Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';
import { cleanLine } from '../terminal/clean.ts';
import { columns } from '../terminal/columns.ts';
import { type Output, type StoreTask, storeCommands } from './store-commands.ts';
import { issuerOf } from './with-store.ts';

type Origin = keyof Group['origins'];

const ORIGINS: Readonly<Record<Origin, string>> = {
  operator: 'by users describe',
  'sign-in': 'by their sign-in at the identity provider',
  scim: 'by SCIM',
};

export function defineGroups(program: Command, processContext: ProcessContext): void {
  const define = storeCommands(program, processContext, (task: StoreTask<object>) => task);
  define(
    'groups',
    'list the groups that users are in, or the members of one',
    list,
    'Local accounts have the groups of `users describe`, others those of their last sign-in at the identity provider and those that it provisions by SCIM. `access --group` shows what a group may call.',
  )
    .argument('[group]', 'group whose members are listed')
    .option('--json', 'as JSON');
}

async function list({ args: [name], settings, ...tools }: StoreTask<object>): Promise<Output> {
  const all = await findGroups(createAccountAdministration({ ...tools, issuer: issuerOf(settings) }));
  return groupsOutput(all, name);
}

/** All groups, or the members of one. @throws Error if no user is in that one */
export function groupsOutput(all: readonly Group[], name: string | undefined): Output {
  const groups = name === undefined ? all : all.filter((group) => group.name === name);
  if (name !== undefined && groups.length === 0)
    throw new Error(`No user is in the group ${cleanLine(name)}: groups lists all`);
  return { json: groups, text: groupsText(groups, name !== undefined) };
}

function groupsText(groups: readonly Group[], withMembers: boolean): string {
  if (groups.length === 0) return 'No user is in a group.\n';
  if (withMembers)
    return columns(
      groups.flatMap(({ members }) => members.map(({ email, id }) => [email, id].map(cleanLine))),
    );
  return columns(groups.map(groupRow));
}

function groupRow({ name, members, origins }: Group): readonly string[] {
  const counts = Object.entries(ORIGINS).flatMap(([origin, text]) => {
    const count = origins[origin as Origin];
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return [cleanLine(name), `${members.length} ${members.length === 1 ? 'user' : 'users'}`, counts.join(', ')];
}
