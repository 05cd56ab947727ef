/** The options schema of conditions of access, derived from their table, and the rule about their claims. */
import {
  ACCESS_CONDITION_MEMBERS,
  type AccessCondition,
  USER_CLAIMS,
  unavailableClaims,
} from '@portcullis/protocol';
import type * as z from 'zod';
import { list, type OptionReport, optional, record, text } from './option-schema.ts';

type Members = { readonly [K in keyof AccessCondition]-?: z.ZodType<AccessCondition[K]> };

/** The names of the members, as messages list them. */
export const accessConditionNames: string = Object.keys(ACCESS_CONDITION_MEMBERS).join(', ');

/**
 * The members of a condition, for `object`.
 * @param minimum entries of each list
 * @param descriptions in place of those of the table
 */
export function accessConditionMembers(
  minimum: 0 | 1,
  descriptions: Partial<Record<keyof AccessCondition, string>> = {},
): Members {
  const named = Object.entries(ACCESS_CONDITION_MEMBERS).map(
    ([name, { kind, about, description, value }]) => {
      const values = list(text(value), minimum);
      const schema = kind === 'list' ? values : record(values, 'an object, a list of values for each name');
      const written = descriptions[name as keyof AccessCondition] ?? description;
      return [name, optional<unknown>(schema, written, { defaultText: `all ${about}s` })] as const;
    },
  );
  return Object.fromEntries(named) as Members;
}

/** Before consent there is no token: limits of scopes can name what is known about users, and no other claim. */
export function reportUnknownClaims(
  condition: AccessCondition,
  path: readonly (string | number)[],
  report: OptionReport,
): void {
  for (const claim of unavailableClaims(condition))
    report.add([...path, 'claims', claim], `unknown claim; expected one of ${USER_CLAIMS.join(', ')}`);
}
