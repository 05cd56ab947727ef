/** Creates, changes and removes provisioned users and groups, and what that means for the accounts of users. */
import { isDeepStrictEqual } from 'node:util';
import type { ServerContext } from '../context.ts';
import type { FederationOptions, IdentityProvider } from '../federation/provider/identity-provider.ts';
import { findProvisionedAccount } from '../federation/provisioned-users.ts';
import { newIdentifier } from '../secrets.ts';
import type {
  MemberChanges,
  ProvisionedMembership,
  ProvisionedResource,
  ProvisioningChange,
  ProvisioningConflict,
} from '../store/index.ts';
import { applyPatch, type Patched, readPatch } from './patch.ts';
import {
  type Attributes,
  addressesOf,
  asObject,
  checkRepresentation,
  checkSchemas,
  entityTagOf,
  readAttributes,
  readMemberIds,
} from './representation.ts';
import type { ResourceType } from './schema.ts';
import { ScimError } from './scim-error.ts';

export type ScimContext = ServerContext<FederationOptions>;

/** The provisioning connection whose token a request has. */
export interface Connection {
  readonly identityProvider: IdentityProvider;
  readonly tokenId: string;
}

/** The version that a request expects, as `If-Match` says; `null`: any. */
type ExpectedVersion = string | null;

const NO_CHANGES: MemberChanges = { clear: false, remove: [], add: [] };

export type Operations = ReturnType<typeof createOperations>;

/** Members that one response lists. */
const MAX_LISTED_MEMBERS = 20_000;
/** A change that finds another version without `If-Match` starts again. */
const ATTEMPTS = 5;

/** The operations of one connection: it reads and writes what it provisioned, and nothing else. */
export function createOperations(context: ScimContext, connection: Connection) {
  const { store, events, clock } = context;
  const { id: identityProvider } = connection.identityProvider;
  /** @throws ScimError 404 */
  const find = async (type: ResourceType, id: string): Promise<ProvisionedResource> => {
    const found = await store.findProvisioned(identityProvider, type.kind, id);
    if (found === null)
      throw new ScimError(404, null, `There is no ${type.kind} ${JSON.stringify(id.slice(0, 100))}.`);
    return found;
  };
  const record = (
    what: 'created' | 'changed' | 'removed',
    { kind, id: resourceId, accountId }: ProvisionedResource,
  ) =>
    events({
      type: `scim.${kind === 'User' ? 'user' : 'group'}_${what}`,
      identityProvider,
      resourceId,
      tokenId: connection.tokenId,
      ...(accountId !== null && { accountId }),
    });
  const change = (
    type: ResourceType,
    id: string,
    expected: ExpectedVersion,
    alter: (before: ProvisionedResource) => Patched,
  ) =>
    retryStale(async () => {
      const before = await find(type, id);
      checkVersion(before, expected);
      const altered = alter(before);
      const next = await planChange(context, connection, before, altered, type);
      if (next === null) return before;
      // Point of no return: with it, access ends or begins.
      const after = await store.changeProvisioned(next);
      if ('conflict' in after) return after;
      record('changed', after);
      recordAccount(context, identityProvider, next.account, after);
      return after;
    }, expected);

  return {
    find,
    async create(type: ResourceType, body: unknown): Promise<ProvisionedResource> {
      const { attributes, members } = readWhole(body, type);
      const { name, isActive, keys, attributes: stored } = checkRepresentation(attributes, type);
      const now = clock();
      const creation: ProvisioningChange = {
        resource: {
          id: newIdentifier('scim'),
          identityProvider,
          kind: type.kind,
          name,
          attributes: stored,
          isActive,
          accountId: type.kind === 'User' ? await findAccount(context, connection, stored) : null,
          disabledAccount: false,
          version: 1,
          createdAt: now,
          modifiedAt: now,
        },
        keys,
        members,
        account: 'none',
      };
      const account = await accountChange(context, creation.resource, isActive);
      const created = await store.createProvisioned({ ...creation, account });
      if ('conflict' in created) throw conflictError(created, type);
      record('created', created);
      recordAccount(context, identityProvider, account, created);
      return created;
    },
    replace(type: ResourceType, id: string, body: unknown, expected: ExpectedVersion) {
      const given = readWhole(body, type);
      return change(type, id, expected, () => ({
        ...given,
        members: type.kind === 'Group' ? { ...given.members, clear: true } : NO_CHANGES,
      }));
    },
    patch(type: ResourceType, id: string, body: unknown, expected: ExpectedVersion) {
      const operations = readPatch(body, type);
      return change(type, id, expected, ({ attributes, isActive }) =>
        applyPatch({ ...attributes, ...(type.kind === 'User' && { active: isActive }) }, operations, type),
      );
    },
    async remove(type: ResourceType, id: string, expected: ExpectedVersion): Promise<void> {
      await retryStale(async () => {
        const resource = await find(type, id);
        checkVersion(resource, expected);
        const { accountId, disabledAccount } = resource;
        const account = accountId === null ? null : await store.findAccount(accountId);
        // An account that an operator disabled stays, and stays disabled.
        const removesAccount = account !== null && (account.disabledAt === null || disabledAccount);
        // Point of no return: the user, the account and its access are gone.
        if (!(await store.removeProvisioned(resource, removesAccount, clock())))
          return { conflict: 'version' };
        record('removed', resource);
        // A disabled one stays while another connection may reactivate its user.
        const isRemoved = removesAccount && (await store.findAccount(account.id)) === null;
        if (isRemoved) events({ type: 'account.removed', accountId: account.id, identityProvider });
        return resource;
      }, expected);
    },
    /** The groups of a user, the members of a group. */
    related: (resource: ProvisionedResource): Promise<readonly ProvisionedMembership[]> =>
      resource.kind === 'User' ? store.listProvisionedGroups(resource) : listMembers(store, resource.id),
  };
}

async function listMembers(
  store: ScimContext['store'],
  groupId: string,
): Promise<readonly ProvisionedMembership[]> {
  const members = await store.listProvisionedMembers(groupId, MAX_LISTED_MEMBERS + 1);
  if (members.length > MAX_LISTED_MEMBERS)
    throw new ScimError(
      400,
      'tooMany',
      `The group has more than ${MAX_LISTED_MEMBERS} members: send excludedAttributes=members.`,
    );
  return members;
}

function readWhole(body: unknown, type: ResourceType): Patched {
  const given = asObject(body, 'The body');
  checkSchemas(given, type.schema);
  const attributes = readAttributes(given, type);
  return { attributes, members: { ...NO_CHANGES, add: readMemberIds(attributes['members']) } };
}

/** `null`: nothing changes, so that the version stays. */
async function planChange(
  context: ScimContext,
  connection: Connection,
  before: ProvisionedResource,
  { attributes: altered, members }: Patched,
  type: ResourceType,
): Promise<ProvisioningChange | null> {
  // Left out, `active` stays: it must not end a deactivation by accident.
  const given = type.kind === 'User' ? { active: before.isActive, ...altered } : altered;
  const { name, isActive, keys, attributes } = checkRepresentation(given, type);
  const accountId =
    before.accountId ?? (type.kind === 'User' ? await findAccount(context, connection, attributes) : null);
  const account = await accountChange(context, { ...before, accountId }, isActive);
  const isSame =
    isActive === before.isActive &&
    accountId === before.accountId &&
    account === 'none' &&
    !members.clear &&
    members.add.length + members.remove.length === 0 &&
    isDeepStrictEqual(attributes, before.attributes);
  if (isSame) return null;
  const resource: ProvisionedResource = {
    ...before,
    name,
    attributes,
    isActive,
    accountId,
    disabledAccount: account === 'disable' || (before.disabledAccount && !isActive),
    version: before.version + 1,
    modifiedAt: context.clock(),
  };
  return { resource, keys, members, account };
}

/**
 * An inactive user has no enabled account. Only an account that deactivation disabled is enabled by reactivation: it never undoes
 * what an operator decided.
 */
async function accountChange(
  { store }: ScimContext,
  { accountId, disabledAccount }: ProvisionedResource,
  isActive: boolean,
): Promise<ProvisioningChange['account']> {
  const account = accountId === null ? null : await store.findAccount(accountId);
  if (account === null) return 'none';
  if (!isActive) return account.disabledAt === null ? 'disable' : 'none';
  return disabledAccount && account.disabledAt !== null ? 'enable' : 'none';
}

/** The account of a user who signed in before. */
function findAccount(
  { store }: ScimContext,
  { identityProvider }: Connection,
  attributes: Attributes,
): Promise<string | null> {
  const { externalId } = attributes;
  return findProvisionedAccount(store, identityProvider, {
    externalId: typeof externalId === 'string' ? externalId : null,
    addresses: addressesOf(attributes),
  });
}

function recordAccount(
  { events }: ScimContext,
  identityProvider: string,
  account: ProvisioningChange['account'],
  { accountId, disabledAccount }: ProvisionedResource,
): void {
  // Another connection, or an operator, may have decided otherwise.
  if (accountId === null || account === 'none' || disabledAccount !== (account === 'disable')) return;
  events({
    type: account === 'disable' ? 'account.disabled' : 'account.enabled',
    accountId,
    identityProvider,
  });
}

/** @see RFC 7644 §3.14, RFC 9110 §13.1.1 */
function checkVersion(resource: ProvisionedResource, expected: ExpectedVersion): void {
  if (expected === null || expected.trim() === '*') return;
  const tags = expected.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (!tags.includes(entityTagOf(resource).slice(2)))
    throw new ScimError(412, null, 'The resource has changed: read it again.');
}

async function retryStale(
  attempt: () => Promise<ProvisionedResource | ProvisioningConflict>,
  expected: ExpectedVersion,
): Promise<ProvisionedResource> {
  for (let attempts = 0; attempts < ATTEMPTS; attempts += 1) {
    const outcome = await attempt();
    if (!('conflict' in outcome)) return outcome;
    if (outcome.conflict !== 'version') throw conflictError(outcome);
    if (expected !== null) break;
  }
  throw new ScimError(412, null, 'The resource is being changed by others: read it again.');
}

function conflictError(conflict: ProvisioningConflict, type?: ResourceType): ScimError {
  if (conflict.conflict === 'member')
    return new ScimError(
      400,
      'invalidValue',
      `There is no user ${JSON.stringify(conflict.member.slice(0, 100))} to be a member: provision the user first.`,
    );
  return new ScimError(
    409,
    'uniqueness',
    `There is another ${type?.kind ?? 'resource'} with this userName or externalId.`,
  );
}
