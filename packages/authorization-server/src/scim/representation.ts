/** Representations of users and groups: read from requests by the table of attributes, and rendered for responses. */
import type { ProvisionedKey, ProvisionedMembership, ProvisionedResource } from '../store/index.ts';
import { claimText } from '../users/user-claims.ts';
import { foldCase, isStorable } from './filter.ts';
import {
  type Attribute,
  attributesOf,
  findAttribute,
  type ResourceType,
  readAttributePath,
} from './schema.ts';
import { ScimError } from './scim-error.ts';

/** Attributes by their names in the schema. What is unassigned is missing. */
export type Attributes = Readonly<Record<string, unknown>>;

/** Of a text. */
const MAX_LENGTH = 400;
/** Of a multi-valued attribute other than members. */
const MAX_VALUES = 20;
/** Members that one request changes: what one transaction writes is bounded. */
export const MAX_MEMBERS = 5000;

const invalidValue = (detail: string) => new ScimError(400, 'invalidValue', detail);

export function asObject(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw new ScimError(400, 'invalidSyntax', `${what} must be a JSON object.`);
}

/** A member by its name, whose case does not matter. @param name in lower case */
export function memberOf(body: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.entries(body).find(([one]) => one.toLowerCase() === name)?.[1];
}

/** The `schemas` of a request MUST contain the schema of what it is. @see RFC 7643 §3 */
export function checkSchemas(body: Readonly<Record<string, unknown>>, schema: string): void {
  const given = memberOf(body, 'schemas');
  const isListed =
    Array.isArray(given) &&
    given.some((one) => typeof one === 'string' && one.toLowerCase() === schema.toLowerCase());
  if (!isListed) throw new ScimError(400, 'invalidSyntax', `schemas must contain ${schema}.`);
}

/** Reads a representation: members that the schema does not have, and read-only ones, are ignored. @see RFC 7644 §3.3, §3.5.1 */
export function readAttributes(body: Readonly<Record<string, unknown>>, type: ResourceType): Attributes {
  return readMembers(body, type.attributes, '');
}

function readMembers(
  body: Readonly<Record<string, unknown>>,
  attributes: readonly Attribute[],
  prefix: string,
): Attributes {
  const read: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const attribute = findAttribute(attributes, name);
    if (attribute === null || attribute.mutability === 'readOnly') continue;
    if (Object.hasOwn(read, attribute.name))
      throw new ScimError(400, 'invalidSyntax', `${prefix}${attribute.name} is given twice.`);
    const assigned = readValue(attribute, value, prefix);
    if (assigned !== undefined) read[attribute.name] = assigned;
  }
  return read;
}

/** A whole value of an attribute; `undefined`: it is unassigned. @see RFC 7643 §2.5 */
export function readValue(attribute: Attribute, value: unknown, prefix = ''): unknown {
  if (attribute.multiValued !== true) return readSingle(attribute, value, prefix);
  const given = Array.isArray(value) ? value : [value];
  if (attribute.name !== 'members') checkCount(attribute, given, prefix);
  else if (given.length > MAX_MEMBERS)
    throw new ScimError(413, null, `members takes at most ${MAX_MEMBERS} values in one request.`);
  const values = given.map((one) => readSingle(attribute, one, prefix)).filter((one) => one !== undefined);
  return values.length === 0 ? undefined : values;
}

/** Bounds what is stored of a multi-valued attribute, also by several operations. @throws ScimError */
export function checkCount({ name }: Attribute, values: readonly unknown[], prefix = ''): void {
  if (values.length > MAX_VALUES)
    throw new ScimError(413, null, `${prefix}${name} has at most ${MAX_VALUES} values.`);
}

/** One value, also of a multi-valued attribute. */
export function readSingle(attribute: Attribute, value: unknown, prefix = ''): unknown {
  if (value === null || value === undefined || value === '') return undefined;
  const path = `${prefix}${attribute.name}`;
  if (attribute.type === 'complex') {
    // Some services write the values themselves.
    const members = attribute.multiValued === true && typeof value === 'string' ? { value } : value;
    const read = readMembers(asObject(members, path), attribute.subAttributes ?? [], `${path}.`);
    return Object.keys(read).length === 0 ? undefined : read;
  }
  return attribute.type === 'boolean' ? readBoolean(value, path) : readText(value, path);
}

/** Microsoft Entra ID writes `"True"` and `"False"`. */
function readBoolean(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  throw invalidValue(`${path} must be true or false.`);
}

function readText(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidValue(`${path} must be a text.`);
  // One character may fold to eighteen.
  if (value.length > MAX_LENGTH || foldCase(value).length > MAX_LENGTH)
    throw invalidValue(`${path} has at most ${MAX_LENGTH} characters.`);
  if (!isStorable(value)) throw invalidValue(`${path} contains characters that cannot be stored.`);
  return value;
}

/** What is stored of a whole representation. */
interface StoredRepresentation {
  readonly name: string;
  readonly attributes: Attributes;
  readonly isActive: boolean;
  readonly keys: readonly ProvisionedKey[];
}

/** Checks a whole representation, without its members. @throws ScimError `invalidValue` */
export function checkRepresentation(
  { active = true, members: _members, ...attributes }: Attributes,
  type: ResourceType,
): StoredRepresentation {
  const name = attributes[type.nameAttribute];
  if (typeof name !== 'string') throw invalidValue(`${type.nameAttribute} is required.`);
  if (type.kind === 'Group' && claimText(name) !== name)
    throw invalidValue('displayName has at most 200 characters, all printable, with single spaces.');
  const emails = emailsOf(attributes);
  if (emails.filter(({ primary }) => primary === true).length > 1)
    throw invalidValue('emails has at most one primary value.');
  return { name, attributes, isActive: active === true, keys: keysOf(attributes) };
}

interface Email {
  readonly value?: unknown;
  readonly primary?: unknown;
}

const emailsOf = ({ emails }: Attributes) => (Array.isArray(emails) ? (emails as readonly Email[]) : []);

/** The addresses of a user that the identity provider asserts: of `emails`, and a `userName` that is one. */
export function addressesOf(attributes: Attributes): readonly string[] {
  const given = [attributes['userName'], ...emailsOf(attributes).map(({ value }) => value)];
  return [...new Set(given.filter((one) => typeof one === 'string').map(foldCase))];
}

function keysOf(attributes: Attributes): readonly ProvisionedKey[] {
  const { userName, externalId, displayName } = attributes;
  const folded = (attribute: ProvisionedKey['attribute'], value: unknown): readonly ProvisionedKey[] =>
    typeof value === 'string' ? [{ attribute, value: foldCase(value) }] : [];
  const emails = new Set(emailsOf(attributes).map(({ value }) => value));
  return [
    ...folded('userName', userName),
    ...(typeof externalId === 'string' ? [{ attribute: 'externalId' as const, value: externalId }] : []),
    ...folded('displayName', displayName),
    ...[...emails].flatMap((value) => folded('emails', value)),
  ];
}

/** The identifiers of users in `members`. @throws ScimError for a group among them, which is not supported */
export function readMemberIds(members: unknown): readonly string[] {
  const given = Array.isArray(members) ? (members as readonly Attributes[]) : [];
  return [
    ...new Set(
      given.map(({ value, type }) => {
        if (typeof type === 'string' && type.toLowerCase() === 'group')
          throw invalidValue('A group cannot be a member of a group: assign its users.');
        if (typeof value !== 'string') throw invalidValue('Each of members needs a value.');
        return value;
      }),
    ),
  ];
}

/** All attributes as filters see them: also those of the row. */
export function filterable(resource: ProvisionedResource, type: ResourceType): Attributes {
  const { id, attributes, isActive, createdAt, modifiedAt } = resource;
  return {
    id,
    schemas: [type.schema],
    ...attributes,
    ...(type.kind === 'User' && { active: isActive }),
    meta: { resourceType: type.kind, created: timeOf(createdAt), lastModified: timeOf(modifiedAt) },
  };
}

const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000', '');

/** A weak entity tag: equal ones have equal attributes. @see RFC 7644 §3.14 */
export const entityTagOf = ({ version }: Pick<ProvisionedResource, 'version'>): string => `W/"${version}"`;

export type Selection = ReturnType<typeof readSelection>;

/** Which attributes a response has, by the parameters `attributes` and `excludedAttributes`: names, separated by commas. @see RFC 7644 §3.9 */
export function readSelection(parameters: Pick<URLSearchParams, 'get'>, type: ResourceType) {
  const [attributes, excluded] = [parameters.get('attributes'), parameters.get('excludedAttributes')];
  const included = attributes === null ? null : readNames(attributes, type);
  const left = included !== null || excluded === null ? new Map() : readNames(excluded, type);
  const isAlways = (name: string) => findAttribute(attributesOf(type), name)?.returned === 'always';
  const has = (name: string): boolean =>
    isAlways(name) || (included === null ? left.get(name) !== 'all' : included.has(name));
  return {
    /** Whether an attribute, or some of its sub-attributes, are returned. */
    has,
    pick(representation: Attributes): Attributes {
      const picked = Object.entries(representation).filter(([name]) => has(name));
      return Object.fromEntries(
        picked.map(([name, value]) => {
          const only = included?.get(name) ?? 'all';
          const not = left.get(name) ?? new Set();
          const keeps = (sub: string) =>
            (only === 'all' || only.has(sub)) && (not === 'all' || !not.has(sub));
          return [name, pickSubAttributes(value, keeps)];
        }),
      );
    },
  };
}

type Names = ReadonlyMap<string, ReadonlySet<string> | 'all'>;

/** By the names in the schema; unknown ones are left out. */
function readNames(list: string, type: ResourceType): Names {
  const names = new Map<string, ReadonlySet<string> | 'all'>();
  for (const written of list.split(',').slice(0, 100)) {
    const path = readAttributePath(written.trim(), type);
    const attribute = path === null || path.isForeign ? null : findAttribute(attributesOf(type), path.name);
    if (attribute === null) continue;
    const sub = path?.subName == null ? null : findAttribute(attribute.subAttributes, path.subName);
    const known = names.get(attribute.name);
    if (sub === null) {
      if (path?.subName == null) names.set(attribute.name, 'all');
    } else if (known !== 'all') names.set(attribute.name, new Set([...(known ?? []), sub.name]));
  }
  return names;
}

function pickSubAttributes(value: unknown, keeps: (name: string) => boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => pickSubAttributes(one, keeps));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => keeps(name)));
}

/** A resource for a response. @param related the groups of a user, the members of a group @param base the URL of the endpoint */
export function renderResource(
  resource: ProvisionedResource,
  related: readonly ProvisionedMembership[],
  type: ResourceType,
  base: string,
): Attributes {
  const { meta, ...attributes } = filterable(resource, type);
  const isUser = type.kind === 'User';
  const references = related.map(({ id, name }) => ({
    value: id,
    $ref: `${base}${isUser ? '/Groups' : '/Users'}/${id}`,
    display: name,
    type: isUser ? 'direct' : 'User',
  }));
  return {
    ...attributes,
    ...(references.length > 0 && { [isUser ? 'groups' : 'members']: references }),
    meta: {
      ...(meta as object),
      location: resourceUrl(resource, type, base),
      version: entityTagOf(resource),
    },
  };
}

export function resourceUrl(
  { id }: Pick<ProvisionedResource, 'id'>,
  type: ResourceType,
  base: string,
): string {
  return `${base}${type.endpoint}/${id}`;
}
