/** Invites a user: an account, and a one-time link for its owner. */
import { html } from '@portcullis/authorization-server/pages';
import { OperationError } from '../../operations/errors.ts';
import { inviteUser } from '../../operations/users.ts';
import { defineAction } from '../action.ts';
import { links } from '../links.ts';
import type { ConsoleRoute } from '../page.ts';
import { copyText, field, time } from '../ui/parts.ts';
import { groupsField, ROLES, readGroups, readRole } from './fields.ts';

export const inviteRoutes: readonly ConsoleRoute[] = defineAction({
  path: `${links.users}/invite`,
  fields: ['email', 'name', 'groups', 'role'],
  describe: async ({ form, admin }) => ({
    title: 'Invite a user',
    button: 'Create the invitation',
    fields: html`${field({ name: 'email', label: 'Email address', type: 'email', isRequired: true, maxLength: 300, value: form['email'] ?? '', hint: admin.sendsMail ? 'Creates an account, and mails a one-time link to its owner.' : 'Creates an account and a one-time link for its owner.' })}
${field({ name: 'name', label: 'Name', hint: 'Optional. Servers that ask for it get it.', maxLength: 200, value: form['name'] ?? '' })}
${groupsField(form['groups'] ?? '')}
${field({ name: 'role', label: 'Role in the administration', choices: ROLES, value: form['role'] ?? '' })}`,
  }),
  async perform(request) {
    const email = request.form['email'] ?? '';
    if (email.length > 300) throw new OperationError('invalid', 'The email address is too long.');
    const { form } = request;
    const name = (form['name'] ?? '').slice(0, 200);
    const given = { email, name, role: readRole(request), groups: readGroups(request) };
    const { account, link } = await inviteUser(request, given);
    const owner = html`<a href="${links.user(account.id)}"><bdi>${account.email}</bdi></a>`;
    return {
      title: link === null ? 'The invitation is on its way' : 'The invitation is ready',
      body:
        link === null
          ? html`<p>${owner} gets a mail with a link that works once, for a week.</p>`
          : html`<p>Send this link to ${owner}. It is shown once, works once, and expires ${time(link.expiresAt, request.admin.clock())}.</p>
${copyText(link.link)}`,
    };
  },
});
