/** Users and groups that identity providers provision, what they are found by, and the tokens of their connections. */
import type {
  MemberChanges,
  ProvisionedFilter,
  ProvisionedKey,
  ProvisionedMembership,
  ProvisionedResource,
  ProvisioningChange,
  ProvisioningConflict,
  ProvisioningStore,
  ProvisioningTokenRecord,
} from '@portcullis/authorization-server/store';
import type { Database, Steps } from './database.ts';
import { defineRecordColumns } from './record-columns.ts';
import { defineQuery, defineRows, type Query, sql, type Value } from './sql.ts';
import { disableSteps, enableSteps, removeSteps } from './users/accounts.ts';

const columns = defineRecordColumns<ProvisionedResource>(
  `id identityProvider kind name attributes:json isActive:boolean accountId disabledAccount:boolean version createdAt modifiedAt`,
);
const insertResource = columns.insertInto('scim_resources');
const tokenColumns = defineRecordColumns<ProvisioningTokenRecord>(
  'id hash identityProvider note createdAt expiresAt',
);
const insertToken = tokenColumns.insertInto('scim_tokens');
const membershipColumns = defineRecordColumns<ProvisionedMembership>('id name');
const TOKENS = `SELECT ${tokenColumns.select()} FROM scim_tokens`;
const tokenByHash = defineQuery(`${TOKENS} WHERE hash = ? AND expires_at > ?`);
const liveTokens = defineQuery(`${TOKENS} WHERE expires_at > ? ORDER BY created_at, id`);
const byId = defineQuery(
  `SELECT ${columns.select()} FROM scim_resources WHERE id = ? AND identity_provider = ? AND kind = ?`,
);

/** Where the resources of each filter are found, by an index in the order of identifiers. */
const FILTERS: Readonly<Record<ProvisionedFilter['by'], string>> = {
  all: 'scim_resources r WHERE r.identity_provider = ? AND r.kind = ?',
  active: 'scim_resources r WHERE r.identity_provider = ? AND r.kind = ? AND r.is_active = ?',
  change: 'scim_resources r WHERE r.identity_provider = ? AND r.kind = ? AND r.modified_at >= ?',
  key: `scim_keys k JOIN scim_resources r ON r.id = k.id
    WHERE k.identity_provider = ? AND k.kind = ? AND k.attribute = ? AND k.value = ?`,
};
const lists = Object.fromEntries(
  Object.entries(FILTERS).map(([by, found]) => {
    const id = by === 'key' ? 'k.id' : 'r.id';
    const page = `SELECT ${columns.select('r.')} FROM ${found} AND ${id} > ? ORDER BY ${id} LIMIT ? OFFSET ?`;
    return [by, { page: defineQuery(page), count: defineQuery(`SELECT COUNT(*) AS count FROM ${found}`) }];
  }),
);

function valuesOf(filter: ProvisionedFilter): readonly Value[] {
  if (filter.by === 'key') return [filter.key.attribute, filter.key.value];
  if (filter.by === 'active') return [Number(filter.isActive)];
  return filter.by === 'change' ? [filter.since] : [];
}

/** Writes of all connections follow each other, so that what was checked is still true. */
const inOrder = 'scim_resources';

const queriesOf = ({ by }: ProvisionedFilter) => lists[by] as (typeof lists)[string];

export function createProvisioningStore(database: Database): ProvisioningStore {
  return {
    saveProvisioningToken: (token) => database.write(insertToken(token)),
    findProvisioningToken: (hash, now) => tokenColumns.findFirst(database, tokenByHash(hash, now)),
    listProvisioningTokens: (now) => tokenColumns.findAll(database, liveTokens(now)),
    revokeProvisioningToken: (id) =>
      database.changes(sql`DELETE FROM scim_tokens WHERE id = ${id} RETURNING 1 AS one`),
    findProvisioned: (identityProvider, kind, id) =>
      columns.findFirst(database, byId(id, identityProvider, kind)),
    async listProvisioned(identityProvider, kind, filter, { after, skip, limit }) {
      const found = [identityProvider, kind, ...valuesOf(filter), after, limit, skip];
      return columns.findAll(database, queriesOf(filter).page(...found));
    },
    async countProvisioned(identityProvider, kind, filter) {
      const query = queriesOf(filter).count(identityProvider, kind, ...valuesOf(filter));
      const [row] = await database.read<{ readonly count: number }>(query);
      return Number(row?.count ?? 0);
    },
    listProvisionedMembers: (groupId, limit) =>
      membershipColumns.findAll(
        database,
        sql`SELECT u.id, u.name FROM scim_keys k JOIN scim_resources u ON u.id = k.value
          WHERE k.id = ${groupId} AND k.attribute = 'members' ORDER BY k.value LIMIT ${limit}`,
      ),
    listProvisionedGroups: ({ id, identityProvider }) =>
      membershipColumns.findAll(
        database,
        sql`SELECT g.id, g.name FROM scim_keys k JOIN scim_resources g ON g.id = k.id
          WHERE k.identity_provider = ${identityProvider} AND k.kind = 'Group' AND k.attribute = 'members' AND k.value = ${id}
          ORDER BY k.id`,
      ),
    createProvisioned: (change) => database.transact(() => create(change), inOrder),
    changeProvisioned: (change) => database.transact(() => changeResource(change), inOrder),
    removeProvisioned: (resource, removeAccount, at) =>
      database.transact(() => remove(resource, removeAccount, at), inOrder),
    linkProvisionedAccount: (id, accountId) =>
      database.changes(
        sql`UPDATE scim_resources SET account_id = ${accountId}, version = version + CASE WHEN account_id IS NULL THEN 1 ELSE 0 END
          WHERE id = ${id} AND kind = 'User' AND is_active = 1 AND (account_id IS NULL OR account_id = ${accountId})
            AND NOT EXISTS (SELECT 1 FROM scim_resources other WHERE other.account_id = ${accountId} AND other.id <> ${id}
              AND other.identity_provider = scim_resources.identity_provider) RETURNING 1 AS one`,
      ),
  };
}

type Outcome = ProvisionedResource | ProvisioningConflict;

function* create(change: ProvisioningChange): Steps<Outcome> {
  const accountId = yield* availableAccount(change.resource);
  const resource = {
    ...change.resource,
    accountId,
    disabledAccount: yield* isDisabledBy(change, accountId),
  };
  const conflict = yield* findConflict(change);
  if (conflict !== null) return conflict;
  yield insertResource(resource);
  yield* insertKeys(change);
  if (accountId !== null) yield* applyToAccount(accountId, { ...change, resource });
  return resource;
}

function* changeResource(change: ProvisioningChange): Steps<Outcome> {
  const { resource } = change;
  const conflict = yield* findConflict(change);
  if (conflict !== null) return conflict;
  const { id, version, name, modifiedAt } = resource;
  const accountId = yield* availableAccount(resource);
  const disabledAccount = yield* isDisabledBy(change, accountId);
  const changed =
    yield sql`UPDATE scim_resources SET name = ${name}, attributes = ${JSON.stringify(resource.attributes)},
      is_active = ${Number(resource.isActive)}, account_id = ${accountId}, disabled_account = ${Number(disabledAccount)},
      version = ${version}, modified_at = ${modifiedAt} WHERE id = ${id} AND version = ${version - 1} RETURNING 1 AS one`;
  if (changed.length === 0) return { conflict: 'version' };
  yield sql`DELETE FROM scim_keys WHERE id = ${id} AND attribute <> 'members'`;
  yield* insertKeys(change);
  const after = { ...resource, accountId, disabledAccount };
  if (accountId !== null) yield* applyToAccount(accountId, { ...change, resource: after });
  return after;
}

/**
 * Whether deactivation disables the account: of this user, or of another one that the account is of a connection that shares the
 * issuer. Then the last of their reactivations enables it.
 */
function* isDisabledBy({ account, resource }: ProvisioningChange, accountId: string | null): Steps<boolean> {
  if (accountId === null) return false;
  const others =
    (yield sql`SELECT is_active FROM scim_resources WHERE account_id = ${accountId} AND id <> ${resource.id} AND disabled_account = 1`) as readonly {
      readonly is_active: number;
    }[];
  if (resource.isActive) return account === 'enable' && others.some((other) => other.is_active === 0);
  if (others.length > 0 || account !== 'disable') return others.length > 0 || resource.disabledAccount;
  // An operator may have disabled it since the change was planned.
  const enabled = yield sql`SELECT 1 AS one FROM accounts WHERE id = ${accountId} AND disabled_at IS NULL`;
  return enabled.length > 0;
}

function* applyToAccount(accountId: string, { account, resource }: ProvisioningChange): Steps<void> {
  if (account === 'disable') yield* disableSteps(accountId, resource.modifiedAt);
  if (account !== 'enable' || resource.disabledAccount) return;
  yield sql`UPDATE scim_resources SET disabled_account = 0, version = version + 1 WHERE account_id = ${accountId} AND id <> ${resource.id}`;
  yield* enableSteps(accountId);
}

/** The account, unless it is another user's. */
function* availableAccount({ id, identityProvider, accountId }: ProvisionedResource): Steps<string | null> {
  if (accountId === null) return null;
  const others = yield sql`SELECT 1 AS one FROM scim_resources
    WHERE account_id = ${accountId} AND identity_provider = ${identityProvider} AND id <> ${id}`;
  return others.length > 0 ? null : accountId;
}

function* findConflict({
  resource: { id, identityProvider, kind },
  keys,
  members,
}: ProvisioningChange): Steps<ProvisioningConflict | null> {
  for (const { attribute, value } of kind === 'User' ? keys : []) {
    if (attribute !== 'userName' && attribute !== 'externalId') continue;
    const others = yield sql`SELECT 1 AS one FROM scim_keys WHERE identity_provider = ${identityProvider}
      AND kind = ${kind} AND attribute = ${attribute} AND value = ${value} AND id <> ${id}`;
    if (others.length > 0) return { conflict: 'uniqueness' };
  }
  for (const batch of batchesOf(members.add)) {
    const known = (yield knownUsers(identityProvider, ...padded(batch))) as readonly {
      readonly id: string;
    }[];
    const missing = batch.find((member) => !known.some((user) => user.id === member));
    if (missing !== undefined) return { conflict: 'member', member: missing };
  }
  return null;
}

/** Members in one statement. */
const BATCH = 100;
const MARKS = Array.from({ length: BATCH }, () => '?').join(', ');
const knownUsers = defineQuery(
  `SELECT id FROM scim_resources WHERE identity_provider = ? AND kind = 'User' AND id IN (${MARKS})`,
);
const removeMembers = defineQuery(
  `DELETE FROM scim_keys WHERE id = ? AND attribute = 'members' AND value IN (${MARKS})`,
);
const insertKeyRows = (rows: number) =>
  defineRows(
    'INSERT INTO scim_keys (identity_provider, kind, attribute, value, id) VALUES',
    5,
    rows,
    'ON CONFLICT DO NOTHING',
  );
const insertBatch = insertKeyRows(BATCH);
const insertOne = insertKeyRows(1);

function batchesOf(members: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(members.length / BATCH);
  return Array.from({ length: count }, (_, index) => members.slice(index * BATCH, (index + 1) * BATCH));
}

/** No identifier is empty. */
function padded(batch: readonly string[]): readonly string[] {
  return [...batch, ...Array.from({ length: BATCH - batch.length }, () => '')];
}

function* insertKeys({ resource, keys, members }: ProvisioningChange): Steps<void> {
  const { id, identityProvider, kind } = resource;
  const row = ({ attribute, value }: ProvisionedKey) => [identityProvider, kind, attribute, value, id];
  for (const key of keys) yield { template: insertOne, values: row(key) } satisfies Query;
  yield* changeMembers(id, members, (member) => row({ attribute: 'members', value: member }));
}

function* changeMembers(
  id: string,
  { clear, remove: removed, add }: MemberChanges,
  row: (member: string) => readonly Value[],
): Steps<void> {
  if (clear) yield sql`DELETE FROM scim_keys WHERE id = ${id} AND attribute = 'members'`;
  for (const batch of batchesOf(removed)) yield removeMembers(id, ...padded(batch));
  for (const batch of batchesOf(add)) {
    if (batch.length === BATCH) yield { template: insertBatch, values: batch.flatMap(row) };
    else for (const member of batch) yield { template: insertOne, values: row(member) };
  }
}

function* remove(
  { id, identityProvider, kind, version, accountId }: ProvisionedResource,
  removeAccount: boolean,
  at: number,
): Steps<boolean> {
  const removed =
    yield sql`DELETE FROM scim_resources WHERE id = ${id} AND version = ${version} RETURNING 1 AS one`;
  if (removed.length === 0) return false;
  yield sql`DELETE FROM scim_keys WHERE id = ${id}`;
  if (kind === 'User')
    yield sql`DELETE FROM scim_keys WHERE identity_provider = ${identityProvider} AND kind = 'Group'
      AND attribute = 'members' AND value = ${id}`;
  if (!removeAccount || accountId === null) return true;
  const others =
    yield sql`SELECT 1 AS one FROM scim_resources WHERE account_id = ${accountId} AND id <> ${id} AND disabled_account = 1`;
  if (others.length === 0) yield* removeSteps(accountId, at);
  return true;
}
