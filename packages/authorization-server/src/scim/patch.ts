/** PATCH requests: operations on the attributes of a resource, applied all or not at all. @see RFC 7644 §3.5.2 */
import { isDeepStrictEqual } from 'node:util';
import type { MemberChanges } from '../store/index.ts';
import { type Filter, meetsValueFilter, parseFilter } from './filter.ts';
import {
  type Attributes,
  asObject,
  checkCount,
  checkSchemas,
  MAX_MEMBERS,
  memberOf,
  readMemberIds,
  readSingle,
  readValue,
} from './representation.ts';
import {
  type Attribute,
  type AttributePath,
  attributesOf,
  findAttribute,
  type ResourceType,
  readAttributePath,
} from './schema.ts';
import { ScimError } from './scim-error.ts';

const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const MAX_OPERATIONS = 1000;

type Op = 'add' | 'replace' | 'remove';

/** The target of an operation: an attribute, values of it that meet a filter, or a sub-attribute of those. */
interface Target {
  readonly path: AttributePath;
  readonly filter: Filter | null;
}

interface Operation {
  readonly op: Op;
  /** `null`: the value names the attributes. */
  readonly target: Target | null;
  readonly value: unknown;
}

/** The operations of a request. @throws ScimError */
export function readPatch(body: unknown, type: ResourceType): readonly Operation[] {
  const request = asObject(body, 'The body');
  checkSchemas(request, PATCH_SCHEMA);
  const operations = memberOf(request, 'operations');
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimError(400, 'invalidSyntax', 'Operations must be a list with at least one operation.');
  if (operations.length > MAX_OPERATIONS)
    throw new ScimError(413, null, `Send at most ${MAX_OPERATIONS} operations in one request.`);
  return operations.map((one) => readOperation(asObject(one, 'An operation'), type));
}

/** Microsoft Entra ID writes `Add`, `Replace` and `Remove`. */
function readOperation(
  { op, path, value }: Readonly<Record<string, unknown>>,
  type: ResourceType,
): Operation {
  const name = typeof op === 'string' ? op.toLowerCase() : '';
  if (name !== 'add' && name !== 'replace' && name !== 'remove')
    throw new ScimError(400, 'invalidSyntax', 'op must be add, replace or remove.');
  if (path !== undefined && typeof path !== 'string')
    throw new ScimError(400, 'invalidPath', 'path must be a text.');
  if (path === undefined && name === 'remove')
    throw new ScimError(400, 'noTarget', 'An operation that removes needs a path.');
  if (value === undefined && name !== 'remove')
    throw new ScimError(400, 'invalidValue', `An operation of ${name} needs a value.`);
  return { op: name, target: path === undefined ? null : readTarget(path, type), value };
}

function readTarget(written: string, type: ResourceType): Target {
  const open = written.indexOf('[');
  const close = written.lastIndexOf(']');
  const after = close === -1 ? '' : written.slice(close + 1);
  const attribute = open === -1 ? written : `${written.slice(0, open)}${after}`;
  const path = close < open || (open === -1 && close !== -1) ? null : readAttributePath(attribute, type);
  if (path === null)
    throw new ScimError(
      400,
      'invalidPath',
      `The path ${JSON.stringify(written.slice(0, 100))} cannot be read.`,
    );
  return { path, filter: open === -1 ? null : parseFilter(written.slice(open + 1, close), type) };
}

/** A whole representation, or what operations make of one. */
export interface Patched {
  readonly attributes: Attributes;
  readonly members: MemberChanges;
}

/** Applies operations in their order, to a copy. @throws ScimError */
export function applyPatch(
  attributes: Attributes,
  operations: readonly Operation[],
  type: ResourceType,
): Patched {
  const patched = structuredClone(attributes) as Record<string, unknown>;
  const members = createMemberChanges();
  const perform = (op: Op, target: Target, value: unknown, isNamed: boolean) => {
    const attribute = target.path.isForeign ? null : findAttribute(attributesOf(type), target.path.name);
    // What the schema does not have is ignored, as in POST and PUT.
    if (attribute === null) return;
    if (attribute.mutability === 'readOnly') {
      // Okta repeats the identifier in the value of a whole resource.
      if (!isNamed) return;
      throw new ScimError(400, 'mutability', `${attribute.name} cannot be changed.`);
    }
    if (attribute.name === 'members') members.perform(attribute, op, target, value);
    else patchAttribute(patched, attribute, op, target, value);
  };
  for (const { op, target, value } of operations) {
    if (target !== null) perform(op, target, value, true);
    else
      for (const [name, member] of Object.entries(
        asObject(value, 'The value of an operation without a path'),
      ))
        perform(op, readTarget(name, type), member, false);
  }
  return { attributes: patched, members: members.list() };
}

function patchAttribute(
  resource: Record<string, unknown>,
  attribute: Attribute,
  op: Op,
  { path: { subName }, filter }: Target,
  value: unknown,
): void {
  const { name, subAttributes } = attribute;
  const sub = subName === null ? null : findAttribute(subAttributes, subName);
  if (subName !== null && sub === null) {
    if (subAttributes !== undefined) return;
    throw new ScimError(400, 'invalidPath', `${name} has no sub-attributes.`);
  }
  if (filter !== null && attribute.multiValued !== true)
    throw new ScimError(400, 'invalidPath', `${name} has one value, and no filter applies to it.`);
  const before = resource[name];
  const after =
    attribute.multiValued === true
      ? patchValues(asList(before), attribute, op, { sub, filter }, value)
      : patchSingle(before, attribute, op, sub, value);
  if (Array.isArray(after)) checkCount(attribute, after);
  const isUnassigned = after === undefined || (Array.isArray(after) && after.length === 0);
  if (isUnassigned && attribute.required === true)
    throw new ScimError(400, 'mutability', `${name} is required.`);
  if (isUnassigned) delete resource[name];
  else resource[name] = after;
}

function asList(value: unknown): readonly Attributes[] {
  return Array.isArray(value) ? (value as readonly Attributes[]) : [];
}

function patchSingle(
  before: unknown,
  attribute: Attribute,
  op: Op,
  sub: Attribute | null,
  value: unknown,
): unknown {
  if (attribute.type !== 'complex') return op === 'remove' ? undefined : readSingle(attribute, value);
  const members = (before ?? {}) as Attributes;
  if (sub !== null) return orUnassigned(withMember(members, sub, op, value));
  if (op === 'remove') return undefined;
  return orUnassigned(mergeMembers(members, attribute, value));
}

/** The sub-attributes that the value names are replaced, the others remain. */
function mergeMembers(
  before: Attributes,
  { name, subAttributes = [] }: Attribute,
  value: unknown,
): Attributes {
  return Object.entries(asObject(value, name)).reduce((merged, [key, member]) => {
    const sub = findAttribute(subAttributes, key);
    return sub === null ? merged : withMember(merged, sub, 'replace', member);
  }, before);
}

function withMember(before: Attributes, sub: Attribute, op: Op, value: unknown): Attributes {
  const { [sub.name]: _replaced, ...others } = before;
  const assigned = op === 'remove' ? undefined : readSingle(sub, value);
  return assigned === undefined ? others : { ...others, [sub.name]: assigned };
}

function orUnassigned(value: Attributes): Attributes | undefined {
  return Object.keys(value).length === 0 ? undefined : value;
}

function patchValues(
  before: readonly Attributes[],
  attribute: Attribute,
  op: Op,
  { sub, filter }: { readonly sub: Attribute | null; readonly filter: Filter | null },
  value: unknown,
): readonly Attributes[] {
  if (filter === null && sub === null) return patchWhole(before, attribute, op, value);
  const isTarget = (one: Attributes) => filter === null || meetsValueFilter(one, filter, attribute);
  if (op === 'remove') {
    return before.flatMap((one) => {
      if (!isTarget(one)) return [one];
      const left = sub === null ? undefined : orUnassigned(withMember(one, sub, op, value));
      return left === undefined ? [] : [left];
    });
  }
  const change = (one: Attributes) =>
    sub === null ? mergeMembers(one, attribute, value) : withMember(one, sub, op, value);
  const targets = before.filter(isTarget);
  if (targets.length === 0) {
    if (op === 'replace' || filter === null)
      throw new ScimError(400, 'noTarget', `No value of ${attribute.name} is at the path.`);
    return withOnePrimary(before, [change(membersOf(filter, attribute))]);
  }
  const changed = new Map(targets.map((one) => [one, change(one)]));
  const others = before.map((one) => changed.get(one) ?? one);
  return keepOnePrimary(others, [...changed.values()]);
}

function patchWhole(
  before: readonly Attributes[],
  attribute: Attribute,
  op: Op,
  value: unknown,
): readonly Attributes[] {
  if (op === 'remove') {
    if (value === undefined) return [];
    const removed = asList(readValue(attribute, value)).map((one) => one['value']);
    return before.filter((one) => !removed.includes(one['value']));
  }
  const given = asList(readValue(attribute, value));
  if (op === 'replace') return given;
  const isNew = (one: Attributes) => !before.some((known) => isDeepStrictEqual(known, one));
  return withOnePrimary(before, given.filter(isNew));
}

function withOnePrimary(before: readonly Attributes[], added: readonly Attributes[]): readonly Attributes[] {
  return keepOnePrimary([...before, ...added], added);
}

/** A value that becomes the primary one MUST make the others `false`. @see RFC 7644 §3.5.2 */
function keepOnePrimary(
  values: readonly Attributes[],
  changed: readonly Attributes[],
): readonly Attributes[] {
  const primary = changed.findLast((one) => one['primary'] === true);
  if (primary === undefined) return values;
  return values.map((one) => (one !== primary && one['primary'] === true ? { ...one, primary: false } : one));
}

/** The members that a filter such as `type eq "work"` implies, for a value that is added by it. */
function membersOf(filter: Filter, attribute: Attribute): Attributes {
  if (filter.op === 'and')
    return Object.assign({}, ...filter.filters.map((one) => membersOf(one, attribute))) as Attributes;
  const sub = filter.op === 'eq' ? findAttribute(attribute.subAttributes, filter.path.name) : null;
  if (sub === null || filter.op !== 'eq')
    throw new ScimError(400, 'noTarget', `No value of ${attribute.name} meets the filter of the path.`);
  return withMember({}, sub, 'add', filter.value);
}

/** Collects changes of members, without reading those of the group. */
function createMemberChanges() {
  let clear = false;
  const added = new Set<string>();
  const removed = new Set<string>();
  const move = (ids: readonly string[], from: Set<string>, to: Set<string>) => {
    for (const id of ids) {
      to.add(id);
      from.delete(id);
    }
  };
  const removeAll = () => {
    clear = true;
    added.clear();
    removed.clear();
  };
  return {
    perform(attribute: Attribute, op: Op, { path: { subName }, filter }: Target, value: unknown): void {
      if (subName !== null && subName.toLowerCase() !== 'value')
        throw new ScimError(400, 'mutability', 'Members are added and removed as a whole.');
      if (filter !== null) {
        if (op !== 'remove')
          throw new ScimError(400, 'mutability', 'Members are added and removed, and not changed.');
        move(idsOf(filter), added, removed);
      } else if (op === 'remove' && value === undefined) removeAll();
      else {
        const ids = readMemberIds(readValue(attribute, value));
        if (op === 'replace') removeAll();
        if (op === 'remove') move(ids, added, removed);
        else move(ids, removed, added);
      }
    },
    list(): MemberChanges {
      if (added.size + removed.size > MAX_MEMBERS)
        throw new ScimError(413, null, `One request changes at most ${MAX_MEMBERS} members.`);
      return { clear, remove: [...removed], add: [...added] };
    },
  };
}

/** The identifiers that `value eq "…"` names, also several with `or`. */
function idsOf(filter: Filter): readonly string[] {
  if (filter.op === 'or') return filter.filters.flatMap(idsOf);
  if (filter.op === 'eq' && filter.path.name.toLowerCase() === 'value' && typeof filter.value === 'string')
    return [filter.value];
  throw new ScimError(400, 'invalidFilter', 'Members are removed by value eq "…", several with or.');
}
