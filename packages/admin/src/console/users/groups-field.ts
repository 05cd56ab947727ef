/** The groups of accounts in forms. */
import type { Markup } from '@portcullis/authorization-server/pages';
import { OperationError } from '../../operations/errors.ts';
import type { ConsoleRequest } from '../page.ts';
import { field } from '../ui/parts.ts';

export function groupsField(value: string): Markup {
  const hint = 'One per line. Rules and scopes can depend on them.';
  return field({ name: 'groups', label: 'Groups', rows: 4, value, hint });
}

/** The field `groups` of a form. @throws OperationError for more than a user can have */
export function readGroups({ form }: Pick<ConsoleRequest, 'form'>): string[] {
  const groups = (form['groups'] ?? '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
  if (groups.length > 100 || groups.some((group) => group.length > 200))
    throw new OperationError('invalid', 'A user has at most 100 groups of at most 200 characters.');
  return groups;
}
