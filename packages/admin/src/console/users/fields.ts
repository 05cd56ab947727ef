/** The groups and the role of accounts in forms. */
import type { Markup } from '@portcullis/authorization-server/pages';
import type { AccountRole } from '@portcullis/authorization-server/store';
import { OperationError } from '../../operations/errors.ts';
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

export const ROLES = [
  ['', 'No role: administers nothing'],
  ['viewer', 'Viewer: sees everything'],
  ['operator', 'Operator: sees and changes everything'],
] as const;

/** The field `role` of a form. @throws OperationError for any other value */
export function readRole({ form }: Pick<ConsoleRequest, 'form'>): AccountRole | null {
  const given = ROLES.find(([value]) => value === (form['role'] ?? ''));
  if (given === undefined) throw new OperationError('invalid', 'Choose one of the roles.');
  return given[0] === '' ? null : given[0];
}
