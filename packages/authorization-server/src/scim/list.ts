/** Lists of users and groups: filters become indexed queries where they can, the rest is evaluated within bounds. */
import type { ProvisionedFilter, ProvisionedKey, ProvisionedResource } from '../store/index.ts';
import { type Comparison, type Filter, foldCase, meetsFilter, parseFilter } from './filter.ts';
import type { Connection, ScimContext } from './operations.ts';
import { filterable } from './representation.ts';
import { findAttribute, type ResourceType } from './schema.ts';
import { ScimError } from './scim-error.ts';

export const MAX_RESULTS = 200;
const DEFAULT_RESULTS = 100;
/** Resources that one request evaluates a filter on. */
const MAX_EVALUATED = 10_000;
/** Resources read at a time, so that other requests are served in between. */
const BATCH = 200;

/** The parameters of a list request. */
export interface ListRequest {
  readonly filter: string | null;
  /** From 1. */
  readonly startIndex: number | null;
  readonly count: number | null;
  /** `null`: pages by index; empty: the first page. @see RFC 9865 §2 */
  readonly cursor: string | null;
}

export interface ListedResources {
  readonly resources: readonly ProvisionedResource[];
  readonly totalResults: number;
  /** `null`: it is the last page, or pages are requested by index. */
  readonly nextCursor: string | null;
}

/** @throws ScimError `invalidFilter`, `tooMany`, `invalidCursor` */
export async function listResources(
  { store }: Pick<ScimContext, 'store'>,
  { identityProvider }: Connection,
  type: ResourceType,
  request: ListRequest,
): Promise<ListedResources> {
  const filter = request.filter === null ? null : parseFilter(request.filter, type);
  // Values less than 1 and 0 mean those. @see RFC 7644 §3.4.2.4
  const skip = Math.max(request.startIndex ?? 1, 1) - 1;
  const count = Math.min(Math.max(request.count ?? DEFAULT_RESULTS, 0), MAX_RESULTS);
  const after = readCursor(request.cursor);
  const { candidates, rest } = planFilter(filter, type);
  const list = (page: { readonly after: string; readonly skip: number; readonly limit: number }) =>
    candidates.by === 'id'
      ? findOne(store.findProvisioned(identityProvider.id, type.kind, candidates.id), page)
      : store.listProvisioned(identityProvider.id, type.kind, candidates, page);
  if (rest === null && candidates.by !== 'id') {
    const totalResults = await store.countProvisioned(identityProvider.id, type.kind, candidates);
    const skipped = request.cursor === null ? skip : 0;
    const resources = count === 0 ? [] : await list({ after, skip: skipped, limit: count });
    return { resources, totalResults, nextCursor: cursorAfter(request, resources, count) };
  }
  const found = await evaluate(list, rest, type);
  const from = request.cursor === null ? skip : found.filter(({ id }) => id <= after).length;
  const resources = found.slice(from, from + count);
  return {
    resources,
    totalResults: found.length,
    nextCursor: from + count < found.length ? cursorAfter(request, resources, count) : null,
  };
}

async function findOne(
  found: Promise<ProvisionedResource | null>,
  { after }: { readonly after: string },
): Promise<readonly ProvisionedResource[]> {
  const resource = await found;
  return resource === null || resource.id <= after ? [] : [resource];
}

/** All candidates that meet the rest of a filter. */
async function evaluate(
  list: (page: { after: string; skip: number; limit: number }) => Promise<readonly ProvisionedResource[]>,
  rest: Filter | null,
  type: ResourceType,
): Promise<readonly ProvisionedResource[]> {
  const found: ProvisionedResource[] = [];
  let after = '';
  for (let evaluated = 0; ; evaluated += BATCH) {
    if (evaluated >= MAX_EVALUATED)
      throw new ScimError(
        400,
        'tooMany',
        `The filter would be evaluated on more than ${MAX_EVALUATED} resources: begin it with userName, externalId, emails or displayName eq "…".`,
      );
    const page = await list({ after, skip: 0, limit: BATCH });
    found.push(...page.filter((one) => rest === null || meetsFilter(filterable(one, type), rest, type)));
    if (page.length < BATCH) return found;
    after = page.at(-1)?.id ?? after;
  }
}

const CURSOR = /^scim_[\w-]{1,60}$/;

function readCursor(cursor: string | null): string {
  if (cursor === null || cursor === '') return '';
  if (!CURSOR.test(cursor)) throw new ScimError(400, 'invalidCursor', 'The cursor is none of this server.');
  return cursor;
}

function cursorAfter(
  { cursor }: ListRequest,
  resources: readonly ProvisionedResource[],
  count: number,
): string | null {
  return cursor === null || resources.length < count ? null : (resources.at(-1)?.id ?? null);
}

/** How a filter is found: by an index, and what is left to evaluate. */
interface Plan {
  readonly candidates: Candidates;
  readonly rest: Filter | null;
}

/** By identifier: at most one. */
type Candidates = ProvisionedFilter | { readonly by: 'id'; readonly id: string };

/** Of the terms that `and` combines, one is looked up. Members first: they cannot be evaluated. */
function planFilter(filter: Filter | null, type: ResourceType): Plan {
  if (filter === null) return { candidates: { by: 'all' }, rest: null };
  const terms = filter.op === 'and' ? filter.filters : [filter];
  const lookups = terms.flatMap((term) => {
    const found = findLookup(term, type);
    return found === null ? [] : [{ term, ...found }];
  });
  const [best] = lookups.toSorted((one, other) => one.rank - other.rank);
  if (best === undefined) return { candidates: { by: 'all' }, rest: filter };
  const others = best.isExact ? terms.filter((term) => term !== best.term) : terms;
  return { candidates: best.candidates, rest: others.length === 0 ? null : { op: 'and', filters: others } };
}

interface Lookup {
  readonly candidates: Candidates;
  /** Whether it finds exactly what meets the term. */
  readonly isExact: boolean;
  /** The lower, the fewer candidates. */
  readonly rank: number;
}

function findLookup(term: Filter, type: ResourceType): Lookup | null {
  if (term.op === 'some') {
    const inner = term.filter.op === 'and' ? term.filter.filters : [term.filter];
    const value = inner.find(
      (one) => one.op === 'eq' && one.path.name.toLowerCase() === 'value' && one.path.subName === null,
    );
    const name = attributeName(term, type);
    if (value?.op !== 'eq' || typeof value.value !== 'string' || name === null) return null;
    const found = findKey(name, 'value', value.value);
    return found === null ? null : { ...found, isExact: found.isExact && inner.length === 1 };
  }
  if (!('value' in term)) return null;
  if (term.op === 'ge' || term.op === 'gt') return findChange(term);
  if (term.op !== 'eq') return null;
  const name = attributeName(term, type);
  if (name === 'active' && typeof term.value === 'boolean')
    return { candidates: { by: 'active', isActive: term.value }, isExact: true, rank: 6 };
  if (typeof term.value !== 'string' || term.path.isForeign) return null;
  const sub = term.path.subName?.toLowerCase() ?? null;
  if (term.path.name.toLowerCase() === 'id' && sub === null)
    return { candidates: { by: 'id', id: term.value }, isExact: true, rank: 1 };
  return name === null ? null : findKey(name, sub, term.value);
}

function attributeName(
  { path }: Extract<Filter, { readonly path: unknown }>,
  type: ResourceType,
): string | null {
  return path.isForeign ? null : (findAttribute(type.attributes, path.name)?.name ?? null);
}

/** `meta.lastModified` in whole seconds: what changed within the same one is evaluated. */
function findChange({ path, value }: Comparison): Lookup | null {
  const isChange = path.name.toLowerCase() === 'meta' && path.subName?.toLowerCase() === 'lastmodified';
  const at = isChange && typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) return null;
  return { candidates: { by: 'change', since: Math.floor(at / 1000) }, isExact: false, rank: 7 };
}

const RANKS: Readonly<Record<ProvisionedKey['attribute'], number>> = {
  members: 0,
  userName: 2,
  externalId: 3,
  emails: 4,
  displayName: 5,
};

function findKey(name: string, sub: string | null, value: string): Lookup | null {
  const isList = name === 'emails' || name === 'members';
  if (!Object.hasOwn(RANKS, name) || !(sub === null || (isList && sub === 'value'))) return null;
  const attribute = name as ProvisionedKey['attribute'];
  const isExactCase = attribute === 'externalId' || attribute === 'members';
  const key = { attribute, value: isExactCase ? value : foldCase(value) };
  return { candidates: { by: 'key', key }, isExact: true, rank: RANKS[attribute] };
}
