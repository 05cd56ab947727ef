/** Media and schemas that the scenarios of the suite expect byte for byte, or by their keywords. */

/** A red pixel. */
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** A WAV file of one sample. */
export const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

const names = ['First', 'Second', 'Third'] as const;
const titled = (kind: string): readonly object[] =>
  names.map((name, index) => ({ const: `value${index + 1}`, title: `${name} ${kind}` }));
const plain = ['option1', 'option2', 'option3'];

/** A default for each primitive type. @see SEP-1034 */
export const DEFAULTS: Readonly<Record<string, object>> = {
  name: { type: 'string', description: 'Name of a user', default: 'John Doe' },
  age: { type: 'integer', description: 'Age in years', default: 30 },
  score: { type: 'number', description: 'A score', default: 95.5 },
  status: {
    type: 'string',
    description: 'A status',
    enum: ['active', 'inactive', 'pending'],
    default: 'active',
  },
  verified: { type: 'boolean', description: 'Whether it was verified', default: true },
};

/** The five forms of an enumeration. @see SEP-1330 */
export const ENUMERATIONS: Readonly<Record<string, object>> = {
  untitledSingle: { type: 'string', enum: plain },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: plain } },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('Choice') } },
};

/** Keywords that a listing must not lose. @see SEP-1613, SEP-2106 */
export const JSON_SCHEMA_2020_12: Readonly<Record<string, unknown>> = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};
