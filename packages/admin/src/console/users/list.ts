/** The list of users: accounts that sign in here or at an identity provider. */

import type { ListedAccount } from '@portcullis/authorization-server';
import { html, monogram } from '@portcullis/authorization-server/pages';
import { doneIn } from '../action.ts';
import { links } from '../links.ts';
import { type ConsoleRoute, definePage } from '../page.ts';
import { done, empty, filterBar, pageLinks, table, tag, time } from '../ui/parts.ts';

/** Rows of a page. */
const LIMIT = 50;

export const userRoutes: readonly ConsoleRoute[] = [
  definePage(links.users, async (request) => {
    const { admin, query } = request;
    const found = await admin.accounts.list(query.get('after') ?? '', LIMIT + 1);
    const users = found.slice(0, LIMIT);
    const last = users.at(-1);
    const next = found.length > LIMIT && last !== undefined ? last.emailKey : null;
    const rows = users.map((user) => [
      html`<a href="${links.user(user.id)}">${monogram(user.email, user.id)}<bdi>${user.email}</bdi></a>`,
      user.role === null ? '' : tag(user.role === 'operator' ? 'Operator' : 'Viewer'),
      stateOf(user),
      time(user.createdAt, admin.clock()),
    ]);
    return {
      section: 'users',
      title: 'Users',
      body: html`${done(doneIn(request, { removed: 'The account was removed.' }))}
${filterBar(request, null)}
${
  rows.length === 0
    ? empty('No account yet', 'Accounts appear here with the first sign-in or invitation.')
    : table(
        'Accounts',
        [
          { heading: 'Account' },
          { heading: 'Role' },
          { heading: 'State' },
          { heading: 'Created', kind: 'time' },
        ],
        rows,
      )
}
${pageLinks(request, next)}`,
    };
  }),
];

function stateOf({ disabledAt }: ListedAccount) {
  return disabledAt === null ? tag('Active', 'good') : tag('Disabled', 'bad');
}
