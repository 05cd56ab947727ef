/** The roles of accounts in forms. */
import type { AccountRole } from '@portcullis/authorization-server/store';
import { OperationError } from '../../operations/errors.ts';
import type { ConsoleRequest } from '../page.ts';

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
