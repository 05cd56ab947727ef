/** Events by OCSF, validated against the attributes that its schema defines. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { toOcsf } from '../../src/event-exports/ocsf.ts';
import { eventOf } from './event-of.ts';

interface Attribute {
  readonly type: string;
  readonly required?: true;
  readonly isArray?: true;
  /** Of an enumeration. */
  readonly values?: readonly number[];
}

interface Definition {
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly atLeastOne?: readonly string[];
}

const read = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');

const schema: {
  readonly classes: Readonly<Record<string, Definition>>;
  readonly objects: Readonly<Record<string, Definition>>;
} = JSON.parse(read('ocsf-1.1.0.json'));

/** The attributes of the profile `host`. @see OCSF 1.1, profiles/host.json */
const HOST: Definition['attributes'] = { actor: { type: 'actor' } };

const types = [
  ...new Set(
    [...read('../../../../docs/events.md').matchAll(/`((?:[a-z_]+\.)+[a-z_]+)`/g)].map(
      ([, type = '']) => type,
    ),
  ),
];

type Members = Readonly<Record<string, unknown>>;

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  long: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  // `unmapped`: anything.
  object: (value) => typeof value === 'object' && value !== null,
};

/** @returns what the schema does not allow, by its path */
function issuesOf(value: Members, { attributes, atLeastOne }: Definition, at: string): readonly string[] {
  const missing = Object.entries(attributes).filter(([name, { required }]) => required && !(name in value));
  const isMissing = atLeastOne !== undefined && !atLeastOne.some((name) => name in value);
  return [
    ...missing.map(([name]) => `${at}.${name} is missing`),
    ...(isMissing ? [`${at} has none of ${atLeastOne.join(', ')}`] : []),
    ...Object.entries(value).flatMap(([name, member]) => {
      const attribute = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
      if (attribute === undefined) return [`${at}.${name} is not defined`];
      if (Array.isArray(member) !== (attribute.isArray === true))
        return [`${at}.${name} is no array, or one`];
      const all = Array.isArray(member) ? member : [member];
      return all.flatMap((one) => memberIssues(one, attribute, `${at}.${name}`));
    }),
  ];
}

function memberIssues(value: unknown, { type, values }: Attribute, at: string): readonly string[] {
  const isKind = KINDS[type];
  if (isKind === undefined) {
    const definition = schema.objects[type];
    return definition === undefined
      ? [`${at}: ${type} is not in the extract`]
      : issuesOf(value as Members, definition, at);
  }
  if (!isKind(value)) return [`${at} is no ${type}: ${JSON.stringify(value)}`];
  return values === undefined || values.includes(value as number) ? [] : [`${at} has no value ${value}`];
}

function validate(event: object): readonly string[] {
  const { class_uid: uid, metadata } = event as {
    class_uid: number;
    metadata: { profiles?: readonly string[] };
  };
  const definition = schema.classes[uid];
  if (definition === undefined) return [`class ${uid} is not in the extract`];
  const profile = metadata.profiles?.includes('host') ? HOST : {};
  return issuesOf(
    event as Members,
    { ...definition, attributes: { ...profile, ...definition.attributes } },
    '',
  );
}

const USER = { accountId: 'user_1', clientId: 'client_1', grantId: 'grant_1', transactionId: 'flow_1' };
const CALL = {
  ...{ server: '/mcp', method: 'tools/call', tool: 'send', decision: 'denied', outcome: 'refused' },
  ...{ status: 403, duration: 1.6, reason: 'a rule', site: '2001:db8::/64' },
};

describe('the schema of OCSF 1.1', () => {
  it.each(types)('allows %s, with what is known of it and without', (type) => {
    expect(validate(toOcsf(eventOf(type)))).toEqual([]);
    const details = { network: '192.0.2.1', keyId: 'key_1', reason: 'why', count: 2, scopes: ['a'] };
    expect(validate(toOcsf(eventOf(type, details, USER)))).toEqual([]);
    expect(validate(toOcsf(eventOf(type, details, { ...USER, accountId: null })))).toEqual([]);
    expect(validate(toOcsf(eventOf(type, CALL, { ...USER, resource: 'https://mcp.example/' })))).toEqual([]);
  });

  it.each([
    ['activity_id', 77, ['.activity_id has no value 77']],
    ['time', '2026-01-01', ['.time is no long: "2026-01-01"']],
    ['user', {}, ['.user has none of account, name, uid']],
    ['metadata', { version: '1.1.0' }, ['.metadata.product is missing']],
    ['colour', 'red', ['.colour is not defined']],
  ])('does not allow %s to be %j', (name, value, issues) => {
    const event = toOcsf(eventOf('login.succeeded', {}, USER));
    expect(validate({ ...event, [name]: value })).toEqual(issues);
  });
});
