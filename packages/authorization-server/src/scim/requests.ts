/** One SCIM request on users or groups, alone or of a bulk request: finds its operation and renders the outcome. */
import type { ProvisionedMembership, ProvisionedResource } from '../store/index.ts';
import { isStorable } from './filter.ts';
import { type ListRequest, listResources } from './list.ts';
import type { Connection, Operations, ScimContext } from './operations.ts';
import {
  asObject,
  checkSchemas,
  entityTagOf,
  readSelection,
  renderResource,
  resourceUrl,
  type Selection,
} from './representation.ts';
import { RESOURCE_TYPES, type ResourceType } from './schema.ts';
import { ScimError } from './scim-error.ts';
import { LIST_SCHEMA } from './service-documents.ts';

/** A request below the endpoint. */
export interface ScimRequest {
  readonly method: string;
  /** Such as `/Users/scim_…`, without the query. */
  readonly path: string;
  readonly parameters: Pick<URLSearchParams, 'get'>;
  readonly ifMatch: string | null;
  readonly ifNoneMatch: string | null;
  /** JSON. */
  readonly body: unknown;
}

/** Its outcome. */
export interface ScimOutcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly document: object | null;
}

interface Target {
  readonly type: ResourceType;
  /** `null`: the collection. */
  readonly id: string | null;
  readonly isSearch: boolean;
}

function readTarget(path: string): Target | null {
  const type = RESOURCE_TYPES.find(({ endpoint }) => path === endpoint || path.startsWith(`${endpoint}/`));
  if (type === undefined) return null;
  const rest = path.slice(type.endpoint.length + 1);
  if (rest.includes('/') || !isStorable(rest)) return null;
  return { type, id: rest === '' || rest === '.search' ? null : rest, isSearch: rest === '.search' };
}

/** Runs an operation when a slot is free. */
type RunInSlot = <Outcome>(perform: () => Promise<Outcome>) => Promise<Outcome>;

export interface ScimService {
  readonly context: ScimContext;
  readonly connection: Connection;
  readonly operations: Operations;
  /** The URL of the endpoint. */
  readonly base: string;
  readonly runInSlot: RunInSlot;
}

/** @throws ScimError, also for paths that are of nothing */
export async function handleScimRequest(service: ScimService, request: ScimRequest): Promise<ScimOutcome> {
  const target = readTarget(request.path);
  if (target === null) throw new ScimError(404, null, 'There is nothing at this path.');
  const { type, id, isSearch } = target;
  if (isSearch) return search(service, type, request);
  if (id === null) return handleCollection(service, type, request);
  const { operations } = service;
  switch (request.method) {
    case 'GET':
      return show(service, type, request, await operations.find(type, id));
    case 'PUT': {
      const changed = await operations.replace(type, id, request.body, request.ifMatch);
      return show(service, type, request, changed);
    }
    case 'PATCH': {
      const changed = await operations.patch(type, id, request.body, request.ifMatch);
      // A group may have many members, which none asked for. @see RFC 7644 §3.5.2
      const isWanted = type.kind === 'User' || request.parameters.get('attributes') !== null;
      return isWanted
        ? show(service, type, request, changed)
        : { status: 204, headers: { etag: entityTagOf(changed) }, document: null };
    }
    case 'DELETE':
      await operations.remove(type, id, request.ifMatch);
      return { status: 204, headers: {}, document: null };
    default:
      throw notAllowed('GET, PUT, PATCH, DELETE');
  }
}

async function handleCollection(
  service: ScimService,
  type: ResourceType,
  request: ScimRequest,
): Promise<ScimOutcome> {
  if (request.method === 'POST') {
    const created = await service.operations.create(type, request.body);
    const shown = await show(service, type, { ...request, ifNoneMatch: null }, created);
    return { ...shown, status: 201 };
  }
  if (request.method !== 'GET') throw notAllowed('GET, POST');
  return list(service, type, request.parameters);
}

const SEARCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';

/** A list request in a body, so that its filter is in no log. @see RFC 7644 §3.4.3 */
async function search(service: ScimService, type: ResourceType, request: ScimRequest): Promise<ScimOutcome> {
  if (request.method !== 'POST') throw notAllowed('POST');
  const body = asObject(request.body, 'The body');
  checkSchemas(body, SEARCH_SCHEMA);
  // A list of names becomes text with commas. Objects are no parameters: some cannot be text.
  const given = Object.entries(body).flatMap(([name, value]): [string, string][] => {
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.some((one) => typeof one === 'object') ? [] : [[name, values.join(',')]];
  });
  return list(service, type, new URLSearchParams(given));
}

function readWhole(parameters: ScimRequest['parameters'], name: 'startIndex' | 'count'): number | null {
  const value = parameters.get(name);
  if (value === null || value === '') return null;
  if (!/^[+-]?\d{1,9}$/.test(value))
    throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`);
  return Number(value);
}

/** Members, or groups of users, that one response lists. */
const MAX_LISTED = 100_000;

async function list(
  service: ScimService,
  type: ResourceType,
  parameters: ScimRequest['parameters'],
): Promise<ScimOutcome> {
  const { context, connection } = service;
  const request: ListRequest = {
    filter: parameters.get('filter'),
    startIndex: readWhole(parameters, 'startIndex'),
    count: readWhole(parameters, 'count'),
    cursor: parameters.get('cursor'),
  };
  const selection = readSelection(parameters, type);
  const { resources, totalResults, nextCursor } = await listResources(context, connection, type, request);
  const rendered: object[] = [];
  let left = MAX_LISTED;
  for (const one of resources) {
    const related = await readRelated(service, type, selection, one);
    left -= related.length;
    if (left < 0)
      throw new ScimError(
        400,
        'tooMany',
        `The resources have more than ${MAX_LISTED} members: send a smaller count, or excludedAttributes=members.`,
      );
    rendered.push(selection.pick(renderResource(one, related, type, service.base)));
  }
  const document = {
    schemas: [LIST_SCHEMA],
    totalResults,
    itemsPerPage: rendered.length,
    ...(request.cursor === null && { startIndex: Math.max(request.startIndex ?? 1, 1) }),
    ...(nextCursor !== null && { nextCursor }),
    Resources: rendered,
  };
  return { status: 200, headers: {}, document };
}

async function show(
  service: ScimService,
  type: ResourceType,
  { parameters, ifNoneMatch }: ScimRequest,
  resource: ProvisionedResource,
): Promise<ScimOutcome> {
  const etag = entityTagOf(resource);
  const headers = { etag, location: resourceUrl(resource, type, service.base) };
  if (ifNoneMatch === etag) return { status: 304, headers, document: null };
  const selection = readSelection(parameters, type);
  const related = await readRelated(service, type, selection, resource);
  const document = selection.pick(renderResource(resource, related, type, service.base));
  return { status: 200, headers, document };
}

/** The groups of a user, the members of a group; none if a response leaves them out. */
async function readRelated(
  { operations }: ScimService,
  type: ResourceType,
  selection: Selection,
  resource: ProvisionedResource,
): Promise<readonly ProvisionedMembership[]> {
  return selection.has(type.kind === 'User' ? 'groups' : 'members') ? operations.related(resource) : [];
}

function notAllowed(methods: string): ScimError {
  return new ScimError(405, null, `Use ${methods} here.`);
}
