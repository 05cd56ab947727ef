/**
 * A provisioning service that synchronizes a directory as Microsoft Entra ID does: it looks a user up by userName or externalId, then
 * creates or changes it, and sends memberships as changes of groups. A part goes by bulk requests. What a killed server left open is
 * looked up and sent again.
 */
import { isGone } from '../load.ts';
import type { Directory, DirectoryGroup, DirectoryUser } from './directory.ts';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const BULK = 'urn:ietf:params:scim:api:messages:2.0:BulkRequest';

type Json = Readonly<Record<string, unknown>>;

/** The SCIM endpoint of the server that runs at the time. */
export interface ScimService {
  /** Requests at the same time. */
  readonly concurrency: number;
  /** Rejects without a response. */
  send(method: string, path: string, body?: Json): Promise<{ readonly status: number; readonly body: Json }>;
  /** Resolves when there is a server again. */
  back(): Promise<void>;
}

/** Members in one request. */
const MEMBERS = 100;
/** Every fifth user is created by bulk requests, and every fifth group changed by them. */
const isInBulk = (index: number) => index % 5 === 4;
const BULK_OPERATIONS = 50;

/** @param before what was synchronized last @returns the identifiers of users by name */
export async function synchronize(
  service: ScimService,
  directory: Directory,
  before: Directory | null,
): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  const single = directory.users.filter((_, index) => before !== null || !isInBulk(index));
  const bulk = before === null ? directory.users.filter((_, index) => isInBulk(index)) : [];
  await each(service, single, async (user) => {
    ids.set(user.userName, await synchronizeUser(service, user));
  });
  await each(service, batchesOf(bulk, BULK_OPERATIONS), (users) => createInBulk(service, users, ids));
  const changes = directory.groups.map((group, index) => ({ group, known: before?.groups[index] ?? null }));
  const groups = changes.filter((_, index) => before === null || !isInBulk(index));
  await each(service, groups, (change) => synchronizeGroup(service, change, ids));
  const inBulk = before === null ? [] : changes.filter((_, index) => isInBulk(index));
  await each(service, batchesOf(inBulk, BULK_OPERATIONS), (some) => changeInBulk(service, some, ids));
  return ids;
}

/** Some at a time; one that a killed server left open is done again. */
async function each<Item>(
  service: ScimService,
  items: readonly Item[],
  perform: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items.values();
  const work = async () => {
    for (const item of queue) {
      for (let isDone = false; !isDone; ) {
        isDone = await perform(item).then(
          () => true,
          async (error: unknown) => {
            if (!isGone(error)) throw error;
            await service.back();
            return false;
          },
        );
      }
    }
  };
  await Promise.all(Array.from({ length: service.concurrency }, work));
}

function batchesOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}

function representationOf({ userName, externalId, displayName, familyName, active }: DirectoryUser): Json {
  return {
    schemas: [USER],
    userName,
    externalId,
    displayName,
    name: { familyName },
    emails: [{ value: userName, type: 'work', primary: true }],
    active,
  };
}

/** Half of the organizations match by userName, half by externalId. */
async function synchronizeUser(service: ScimService, user: DirectoryUser): Promise<string> {
  const isByName = Number(user.externalId.at(-1)) % 2 === 0;
  const known = await lookUp(
    service,
    '/Users',
    isByName ? `userName eq "${user.userName}"` : `externalId eq "${user.externalId}"`,
  );
  if (known === null) {
    const { body } = await expectOf([201], service.send('POST', '/Users', representationOf(user)));
    return String(body['id']);
  }
  const changes = [
    ['displayName', user.displayName, known['displayName']],
    ['name.familyName', user.familyName, (known['name'] as Json | undefined)?.['familyName']],
    ['active', user.active ? 'True' : 'False', known['active'] === true ? 'True' : 'False'],
  ].filter(([, wanted, stored]) => wanted !== stored);
  if (changes.length > 0) {
    const operations = changes.map(([path, value]) => ({ op: 'Replace', path, value }));
    await expectOf([200], service.send('PATCH', `/Users/${known['id']}`, patchOf(operations)));
  }
  return String(known['id']);
}

const patchOf = (operations: readonly Json[]) => ({ schemas: [PATCH], Operations: operations });

async function lookUp(service: ScimService, path: string, filter: string): Promise<Json | null> {
  const query = new URLSearchParams({ filter, excludedAttributes: 'members' });
  const { body } = await expectOf([200], service.send('GET', `${path}?${query}`));
  const [found = null] = body['Resources'] as readonly Json[];
  return found;
}

interface GroupChange {
  readonly group: DirectoryGroup;
  readonly known: DirectoryGroup | null;
}

async function synchronizeGroup(
  service: ScimService,
  change: GroupChange,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const { displayName } = change.group;
  const known = await lookUp(service, '/Groups', `displayName eq "${displayName}"`);
  const created = () => service.send('POST', '/Groups', { schemas: [GROUP], displayName });
  const id = known?.['id'] ?? (await expectOf([201], created())).body['id'];
  for (const operation of membershipsOf(change, ids))
    await expectOf([204], service.send('PATCH', `/Groups/${id}`, patchOf([operation])));
}

/** An operation for each hundred members. */
function membershipsOf({ group, known }: GroupChange, ids: ReadonlyMap<string, string>): readonly Json[] {
  const operation = (op: string, names: readonly string[]) =>
    batchesOf(names, MEMBERS).map((batch) => ({
      op,
      path: 'members',
      value: batch.map((name) => ({ value: ids.get(name) })),
    }));
  const left = known?.members.filter((name) => !group.members.includes(name)) ?? [];
  const joined = group.members.filter((name) => known?.members.includes(name) !== true);
  return [...operation('Remove', left), ...operation('Add', joined)];
}

/** A user who is there already was created before the server was killed. */
async function createInBulk(
  service: ScimService,
  users: readonly DirectoryUser[],
  ids: Map<string, string>,
): Promise<void> {
  const operations = users.map((user) => ({
    method: 'POST',
    path: '/Users',
    bulkId: user.externalId,
    data: representationOf(user),
  }));
  const results = await sendBulk(service, operations);
  for (const [index, { status, location }] of results.entries()) {
    const user = users[index];
    if (user === undefined) throw new Error('a result of no operation');
    if (status === '201') ids.set(user.userName, String(location).split('/').at(-1) ?? '');
    else if (status === '409') ids.set(user.userName, await synchronizeUser(service, user));
    else throw new Error(`a user was not created in bulk: ${status}`);
  }
}

async function changeInBulk(
  service: ScimService,
  changes: readonly GroupChange[],
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const operations: Json[] = [];
  for (const change of changes) {
    const found = await lookUp(service, '/Groups', `displayName eq "${change.group.displayName}"`);
    const data = patchOf(membershipsOf(change, ids));
    operations.push({ method: 'PATCH', path: `/Groups/${found?.['id']}`, data });
  }
  const results = await sendBulk(service, operations);
  const failed = results.find(({ status }) => status !== '204');
  if (failed !== undefined) throw new Error(`a group was not changed in bulk: ${JSON.stringify(failed)}`);
}

async function sendBulk(service: ScimService, operations: readonly Json[]): Promise<readonly Json[]> {
  const sent = service.send('POST', '/Bulk', { schemas: [BULK], Operations: operations });
  return (await expectOf([200], sent)).body['Operations'] as readonly Json[];
}

async function expectOf<Answer extends { readonly status: number; readonly body: Json }>(
  statuses: readonly number[],
  sent: Promise<Answer>,
): Promise<Answer> {
  const answer = await sent;
  if (statuses.includes(answer.status)) return answer;
  throw new Error(`responded ${answer.status}: ${JSON.stringify(answer.body)}`);
}

/** Reads everything back, page by page, in the form of a directory. */
export async function readBack(service: ScimService): Promise<Directory> {
  const users: DirectoryUser[] = [];
  const names = new Map<string, string>();
  for await (const { id, userName, externalId, displayName, name, active } of pagesOf(service, '/Users')) {
    const { familyName } = (name ?? {}) as Readonly<Record<string, string>>;
    users.push({ userName, externalId, displayName, familyName, active } as DirectoryUser);
    names.set(String(id), String(userName));
  }
  const groups: DirectoryGroup[] = [];
  for await (const { displayName, members = [] } of pagesOf(service, '/Groups'))
    groups.push({
      displayName: String(displayName),
      members: (members as readonly Json[]).map(({ value }) => names.get(String(value)) ?? '?'),
    });
  return { users, groups };
}

async function* pagesOf(service: ScimService, path: string): AsyncGenerator<Json> {
  for (let cursor: unknown = ''; typeof cursor === 'string'; ) {
    const query = new URLSearchParams({ cursor, count: '200' });
    const { body } = await expectOf([200], service.send('GET', `${path}?${query}`));
    yield* body['Resources'] as readonly Json[];
    cursor = body['nextCursor'];
  }
}

/** In the order of names, to be compared. */
export function sortDirectory({ users, groups }: Directory): Directory {
  const order = (one: string, other: string) => (one < other ? -1 : 1);
  return {
    users: users.toSorted((one, other) => order(one.userName, other.userName)),
    groups: groups
      .map(({ displayName, members }) => ({ displayName, members: members.toSorted(order) }))
      .toSorted((one, other) => order(one.displayName, other.displayName)),
  };
}
