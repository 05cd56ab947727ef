/** The options schema of conditions of access, derived from their table, and the rule about their claims. */
import { ACCESS_CONDITION_MEMBERS, type AccessCondition, unavailableClaims } from '@portcullis/policy';
import { USER_CLAIMS } from '@portcullis/protocol';
import type * as z from 'zod';
import { list, optionMeta, record, text } from './fields.ts';
import type { OptionReport } from './reader.ts';

type Accepted<K extends keyof AccessCondition> = NonNullable<AccessCondition[K]>;
type Members = {
  readonly [K in keyof AccessCondition]-?: z.ZodOptional<z.ZodType<Accepted<K>, Accepted<K>>>;
};

/** The names of the members, as messages list them. */
export const accessConditionNames: string = Object.keys(ACCESS_CONDITION_MEMBERS).join(', ');

/**
 * The members of a condition, for `z.strictObject`.
 * @param minimum entries of each list
 * @param descriptions in place of those of the table
 */
export function accessConditionMembers(
  minimum: 0 | 1,
  descriptions: Partial<Record<keyof AccessCondition, string>> = {},
): Members {
  const named = Object.entries(ACCESS_CONDITION_MEMBERS).map(
    ([name, { kind, about: who, description, value }]) => {
      const values = list(text(value), minimum);
      const schema = kind === 'list' ? values : record(values, 'an object, a list of values for each claim');
      const written = descriptions[name as keyof AccessCondition] ?? description;
      const about = { defaultText: `all ${who}s` };
      return [name, schema.optional().describe(written).register(optionMeta, about)] as const;
    },
  );
  return Object.fromEntries(named) as unknown as Members;
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
