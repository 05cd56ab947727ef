/** Descriptions of structured settings from their schemas: a table of members, and the JSON Schema of the configuration file. */
import { formatDefault, kindOf, optionMeta } from '@portcullis/authorization-server/options';
import * as z from 'zod';
import { definitionOf, unwrap } from './references.ts';
import { fileSchema } from './schema.ts';

/** A member of an object, or of the objects in an array. */
export interface DescribedMember {
  /** Dotted for nested members. */
  readonly name: string;
  readonly description: string;
  readonly kind: string;
  /** `required`, or the default. */
  readonly default: string;
}

export function describeMembers(schema: z.ZodType, parent = ''): readonly DescribedMember[] {
  const { element, options, shape } = definitionOf(unwrap(schema));
  if (element !== undefined) return describeMembers(element, parent);
  if (options !== undefined) return options.flatMap((option) => describeMembers(option, parent));
  return Object.entries(shape ?? {}).flatMap(([key, member]) => {
    const { description } = member;
    if (description === undefined) return [];
    const { defaultText } = optionMeta.get(member) ?? {};
    const name = `${parent}${key}`;
    return [
      { name, description, kind: kindOf(member), default: defaultText ?? defaultOf(member) },
      ...(isExpanded(member) ? describeMembers(member, `${name}.`) : []),
    ];
  });
}

/** Whether the members are listed, also those of arrays of objects; rates are all alike. */
function isExpanded(member: z.ZodType): boolean {
  return kindOf(member).startsWith('an object')
    ? !kindOf(member).includes('burst')
    : kindOf(member).startsWith('an array, each an object');
}

function defaultOf(member: z.ZodType): string {
  const { def } = member as unknown as {
    readonly def: { readonly type: string; readonly defaultValue?: unknown };
  };
  if (def.type === 'default') return code(def.defaultValue, kindOf(member));
  return def.type === 'optional' ? 'none' : 'required';
}

/** Formats a default as code and its explanation as text: `600` (10 minutes). */
function code(value: unknown, kind: string): string {
  if (Array.isArray(value) && value.length === 0) return 'none';
  const [first = '', ...rest] = formatDefault(value, kind).split(/ (?=\()/);
  return [`\`${first}\``, ...rest].join(' ');
}

/** The JSON Schema of a configuration file, for completion in editors. */
export function configurationSchema(): object {
  return z.toJSONSchema(fileSchema(), {
    io: 'input',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { isSecret, isFile } = optionMeta.get(zodSchema as unknown as z.ZodType) ?? {};
      if (jsonSchema.description !== undefined)
        jsonSchema.description = jsonSchema.description.replaceAll('`', '');
      delete jsonSchema.readOnly;
      if (isSecret) {
        const { type, minLength, pattern, ...rest } = jsonSchema;
        const location = (name: string) => ({
          type: 'object' as const,
          properties: { [name]: { type: 'string' as const } },
          required: [name],
          additionalProperties: false,
        });
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, rest, {
          anyOf: [
            { type: 'string', ...(minLength !== undefined && { minLength }) },
            location('file'),
            location('variable'),
          ],
        });
      }
      if (isFile) jsonSchema.type = 'string';
    },
  });
}
