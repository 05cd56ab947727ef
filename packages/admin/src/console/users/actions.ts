/** What an operator can change of a user. */
import { html } from '@portcullis/authorization-server/pages';
import type { Administration } from '../../operations/administration.ts';
import { OperationError } from '../../operations/errors.ts';
import { endUserGrants, listUserGrants } from '../../operations/grants.ts';
import {
  changeUserState,
  createResetLink,
  endUserSessions,
  listUserSessions,
  resetSecondFactor,
  showUser,
  type UserDetails,
  updateUser,
} from '../../operations/users.ts';
import { type Action, type ActionPage, defineAction } from '../action.ts';
import { checkExpected, doneAt, undoableAt } from '../done.ts';
import { links } from '../links.ts';
import type { ConsoleRequest, ConsoleRoute } from '../page.ts';
import { copyText, countOf, field, time } from '../ui/parts.ts';
import { groupsField, ROLES, readGroups, readRole } from './fields.ts';

/** What the page of an action says of a user. */
type Describe = (user: UserDetails, admin: Administration) => Promise<ActionPage>;

function userAction(
  name: string,
  describe: Describe,
  perform: Action['perform'],
  fields: readonly string[] = [],
) {
  return defineAction({
    path: `${links.users}/{userId}/${name}`,
    fields,
    async describe({ admin, params }) {
      const user = await showUser(admin, params['userId'] ?? '');
      const back = { label: user.email, href: links.user(user.id) };
      return { back, ...(await describe(user, admin)) };
    },
    perform,
  });
}

const idIn = ({ params }: ConsoleRequest) => params['userId'] ?? '';

/** What ends with the access of a user: `3 sessions and 12 connections of 4 apps` */
async function sayAccess(admin: Administration, id: string): Promise<string> {
  const [sessions, grants] = await Promise.all([listUserSessions(admin, id), listUserGrants(admin, id)]);
  const apps = new Set(grants.map(({ clientId }) => clientId)).size;
  return `Ends ${countOf(sessions.length, 'session')} and ${countOf(grants.length, 'connection')} of ${countOf(apps, 'app')}, at once.`;
}

const ENDS = [
  ['', 'at the next call'],
  ['now', 'at once'],
] as const;

export const userActions: readonly ConsoleRoute[] = [
  ...userAction(
    'disable',
    async ({ id, email }, admin) => ({
      title: `Disable ${email}`,
      effects: [
        await sayAccess(admin, id),
        'Blocks sign-in until an operator enables the account. What has ended stays so.',
      ],
      button: 'Disable the account',
      isDangerous: true,
    }),
    async (request) => {
      const before = await showUser(request.admin, idIn(request));
      const { id, disabledAt } = await changeUserState(request, before.id, 'disable');
      // Another operator has disabled it before: there is nothing of this one to take back.
      if (before.disabledAt !== null) return doneAt(links.user(id), 'disabled');
      const fields = { expected: JSON.stringify(disabledAt) };
      return undoableAt(request, links.user(id), 'disabled', { path: `${links.user(id)}/enable`, fields });
    },
  ),
  ...userAction(
    'enable',
    async ({ email }) => ({
      title: `Enable ${email}`,
      effects: ['The user can sign in again. Connections that have ended stay so: apps ask again.'],
      button: 'Enable the account',
    }),
    async (request) => {
      const { id, disabledAt } = await showUser(request.admin, idIn(request));
      checkExpected(request, disabledAt);
      await changeUserState(request, id, 'enable');
      return doneAt(links.user(id), 'enabled');
    },
    ['expected'],
  ),
  ...userAction(
    'end',
    async ({ id, email }, admin) => ({
      title: `End all access of ${email}`,
      effects: [
        await sayAccess(admin, id),
        'The user can sign in and allow apps again. Disable the account to prevent that.',
      ],
      button: 'End all access',
      isDangerous: true,
    }),
    async (request) => {
      // Sessions first: none is left that allows something while grants end.
      await endUserSessions(request, idIn(request));
      await endUserGrants(request, idIn(request));
      return doneAt(links.user(idIn(request)), 'ended');
    },
  ),
  ...userAction(
    'remove',
    async ({ id, email, emailKey }, admin) => ({
      title: `Remove ${email}`,
      effects: [
        await sayAccess(admin, id),
        'Deletes everything stored for the account. Its events stay, with its identifier.',
        !emailKey.includes('@') &&
          'The user gets a new account at the next sign-in at the identity provider. Disable it instead to prevent that.',
      ],
      button: 'Remove the account',
      isDangerous: true,
      fields: field({ name: 'confirm', label: `Type ${email} to confirm`, isRequired: true }),
    }),
    async (request) => {
      const { email } = await showUser(request.admin, idIn(request));
      if (request.form['confirm'] !== email)
        throw new OperationError('invalid', `Type ${email} to confirm: nothing was removed.`);
      await changeUserState(request, idIn(request), 'remove');
      return doneAt(links.users, 'removed');
    },
    ['confirm'],
  ),
  ...userAction(
    'reset',
    async ({ email }) => ({
      title: `Create a reset link for ${email}`,
      effects: [
        'Creates a one-time link with which its holder chooses new credentials. It works for a day, and replaces an earlier one.',
        'Once it is used, every session ends and all other credentials are removed.',
      ],
      button: 'Create the link',
    }),
    async (request) => {
      const { email } = await showUser(request.admin, idIn(request));
      const { link, expiresAt } = await createResetLink(request, idIn(request));
      return {
        title: `Reset link for ${email}`,
        back: { label: email, href: links.user(idIn(request)) },
        body: html`<p>Give it to the owner of the account only. It is shown once, and expires ${time(expiresAt, request.admin.clock())}.</p>${copyText(link)}`,
      };
    },
  ),
  ...userAction(
    'factors',
    async ({ email, secondFactors: { totp, passkeys } }) => ({
      title: `Remove the second factors of ${email}`,
      effects: [
        `Removes ${totp ? 'the authenticator app with its recovery codes' : 'no authenticator app'} and ${countOf(passkeys, 'passkey')}.`,
        'The user signs in with the password, and can add new ones.',
      ],
      button: 'Remove second factors',
      isDangerous: true,
    }),
    async (request) => {
      const { id } = await resetSecondFactor(request, idIn(request));
      return doneAt(links.user(id), 'factors');
    },
  ),
  ...userAction(
    'role',
    async ({ email, role }) => ({
      title: `Change the role of ${email}`,
      button: 'Change role',
      fields: field({
        name: 'role',
        label: 'Role',
        choices: ROLES,
        value: role ?? '',
        hint: 'A group of the user can have a role as well: the higher one counts.',
      }),
    }),
    async (request) => {
      const { role } = await showUser(request.admin, idIn(request));
      checkExpected(request, role ?? '');
      const after = readRole(request);
      const { id } = await updateUser(request, idIn(request), { role: after });
      const fields = { role: role ?? '', expected: JSON.stringify(after ?? '') };
      return undoableAt(request, links.user(id), 'role', { path: `${links.user(id)}/role`, fields });
    },
    ['role', 'expected'],
  ),
  ...userAction(
    'groups',
    async ({ email, groups }) => ({
      title: `Change the groups of ${email}`,
      button: 'Change groups',
      fields: html`${groupsField(groups.join('\n'))}${field({
        name: 'ends',
        label: 'What a lost group allowed ends',
        choices: ENDS,
        hint: 'At once, all connections of a user who loses a group end: apps ask again.',
      })}`,
    }),
    async (request) => {
      const groups = readGroups(request);
      const before = (await showUser(request.admin, idIn(request))).groups.join('\n');
      checkExpected(request, before);
      const now = request.form['ends'] === 'now';
      const { id } = await updateUser(request, idIn(request), { groups, now });
      const after = (await showUser(request.admin, id)).groups.join('\n');
      const fields = { groups: before, expected: JSON.stringify(after) };
      return undoableAt(request, links.user(id), 'groups', { path: `${links.user(id)}/groups`, fields });
    },
    ['groups', 'ends', 'expected'],
  ),
];
