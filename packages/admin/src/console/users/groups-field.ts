/** The groups of accounts in forms. */
import type { Markup } from '@portcullis/authorization-server/pages';
import type { ConsoleRequest } from '../page.ts';
import { field } from '../ui/parts.ts';

export function groupsField(value: string): Markup {
  const hint = 'One per line. Rules and scopes can depend on them.';
  return field({ name: 'groups', label: 'Groups', rows: 4, value, hint });
}

/** The field `groups` of a form. */
export function readGroups({ form }: Pick<ConsoleRequest, 'form'>): string[] {
  return (form['groups'] ?? '')
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
}
