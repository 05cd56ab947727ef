/** Query plans: every statement finds its rows by an index, however large the tables are. */

import { DatabaseSync } from 'node:sqlite';
import type {
  AuthorizationStore,
  EventHourStore,
  EventStreamStore,
  GrantRecord,
  WebhookStore,
} from '@portcullis/authorization-server/store';
import { Client, type CustomTypesConfig, types } from 'pg';
import { describe, expect, it } from 'vitest';
import { openTestStore } from '../../../tests/support/test-store.ts';
import type { Database, PostgresOperation, Steps } from '../src/database.ts';
import { createConnections } from '../src/postgres/connections.ts';
import { createPostgresDatabase } from '../src/postgres/postgres-database.ts';
import { sqliteDialect } from '../src/schema/dialect.ts';
import { migrate } from '../src/schema/migrate.ts';
import type { Query } from '../src/sql.ts';
import { createSqliteDatabase } from '../src/sqlite/sqlite-database.ts';
import { createStatementCache, runSteps } from '../src/sqlite/statement-cache.ts';
import { createStore, type FullStore } from '../src/store.ts';
import { approved, newApproval } from '../testing/approvals.ts';
import { newDeviceAuthorization } from '../testing/device-authorizations.ts';
import { newEventStream } from '../testing/event-streams.ts';
import {
  newConnectedAccount,
  newDataKey,
  newFederatedLogin,
  newLinkedIdentity,
  newProviderTokens,
  newRefreshedTokens,
} from '../testing/federation-samples.ts';
import { newProvisioned } from '../testing/provisioning.ts';
import {
  createGrant,
  grantOf,
  issueSampleCode,
  NOW,
  newAccount,
  newAccountLink,
  newClient,
  newClientDocument,
  newCode,
  newEvent,
  newInitialAccessToken,
  newKey,
  newPasskey,
  newRefreshToken,
  newSession,
  newTransaction,
  PASSWORD_HASH,
} from '../testing/samples.ts';
import { type CreateDatabase, postgresDatabases, queryPostgres } from './databases.ts';

/** Tables that a statement may scan: they stay small, or it stops at the first row. */
const MAY_SCAN =
  /SCAN (signing_keys|data_keys|provider_tokens USING INDEX provider_tokens_by_account|connected_accounts USING INDEX connected_accounts_by_account|accounts USING COVERING INDEX|CONSTANT ROW|100-ROW VALUES CLAUSE|pending USING INDEX definition_pins_pending|approvals USING (COVERING )?INDEX approvals_pending|clients USING (COVERING )?INDEX clients_unused|scim_resources USING COVERING INDEX sqlite_autoindex_scim_resources_1|setup_links|webhooks|event_streams)/;
/** Short-lived rows are scanned when a client is removed, which is rare. */
const REMOVAL =
  /^DELETE FROM (authorization_(transactions|codes)|device_authorizations) WHERE client_id = \?$/;

describe('query plans', () => {
  it('uses an index in every statement instead of scanning a table', async () => {
    const connection = new DatabaseSync(':memory:');
    runSteps(migrate(sqliteDialect, NOW), createStatementCache(connection));
    const texts = new Set<string>();
    const database = createSqliteDatabase(connection, 1);
    await callEveryMethod(createStore(observe(database, ({ template }) => texts.add(template.sqlite))));

    const plans = [...texts].map((text) => ({
      text,
      steps: connection
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all()
        .map(({ detail }) => String(detail)),
    }));
    expect(plans.length).toBeGreaterThan(25);
    const whole = plans.filter(
      ({ text, steps }) =>
        !REMOVAL.test(text) && steps.some((step) => step.includes('SCAN') && !MAY_SCAN.test(step)),
    );
    expect(whole).toEqual([]);
    connection.close();
  });

  it('uses an index on PostgreSQL where tables are large', async () => {
    const location = await createDatabase();
    await (await openTestStore(location)).close();
    const queries = new Map<string, Query>();
    const connections = createConnections({ connectionString: location, types: NUMBERS }, 20_000);
    const database = createPostgresDatabase(connections, true);
    const report = (query: Query) => queries.set(query.template.postgres, query);
    await callEveryMethod(createStore(observe(database, report)));
    await database.close();
    const tables = await queryPostgres(location, TABLES);
    const fill = tables.map(({ name, rows }) => `INSERT INTO ${name} ${rows} ON CONFLICT DO NOTHING`);
    await queryPostgres(location, [...fill, 'ANALYZE'].join('; '));

    const statements = [...queries].filter(([text]) => /^(SELECT|INSERT|UPDATE|DELETE|WITH)\b/.test(text));
    expect(statements.length).toBeGreaterThan(100);
    const checked = statements.filter(([text]) => !MAY_SCAN_POSTGRES.test(text)).map(([, query]) => query);
    const plans = await explainAll(location, checked);
    expect(plans.filter((plan) => SCANS_LARGE.test(plan))).toEqual([]);
  });
});

/** The texts of queries with their plans. */
async function explainAll(location: string, queries: readonly Query[]): Promise<readonly string[]> {
  const client = new Client({ connectionString: location });
  await client.connect();
  const plans: string[] = [];
  for (const { template, values } of queries) {
    const { rows } = await client.query(`EXPLAIN ${template.postgres}`, [...values]);
    plans.push([template.postgres, ...rows.map((row) => row['QUERY PLAN'])].join('\n'));
  }
  await client.end();
  return plans;
}

const createDatabase: CreateDatabase = postgresDatabases();

const NUMBERS = {
  getTypeParser: (oid: number) => (oid === 20 ? Number : types.getTypeParser(oid)),
} as unknown as CustomTypesConfig;

/** So many that reading a table as a whole costs more than its index. */
const ROWS = 10_000;
/**
 * Rows for each table, nearly all live. Columns that may be null are so in most; identifiers of all tables are the same, so that
 * references fit.
 */
const TABLES = `SELECT c.relname::text AS name, 'SELECT ' || string_agg(CASE WHEN a.attnotnull THEN v.value
      ELSE 'CASE WHEN n % ' || (5 + a.attnum) || ' = 0 THEN ' || v.value || ' END' END, ', ' ORDER BY a.attnum)
    || ' FROM generate_series(1, ${ROWS}) n' AS rows
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,
    LATERAL (SELECT CASE WHEN a.attname = 'password_hash' THEN '''$argon2id$''' WHEN a.attname IN ('expires_at', 'full_at', 'due_at') THEN '${NOW - 5} + n'
      WHEN a.atttypid = 'bigint'::regtype THEN '${NOW + 5} - n'
      WHEN a.atttypid = 'bytea'::regtype THEN '''\\x00''::bytea' ELSE '''row ''|| n' END AS value) AS v
  WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
    AND c.relname NOT IN ('status_index_counter', 'sweep_lease', 'portcullis_migrations', 'signing_keys', 'data_keys')
  GROUP BY c.relname ORDER BY c.relname <> 'accounts', c.relname <> 'grants', c.relname`;
/**
 * Keys, setup links, SCIM tokens and what is one row are few. Rows that live for minutes are read as a whole when an account or a client ends, which is
 * rare; accounts when the first local one is made. What is live is counted once an hour. A search for one row among nearly all stops at the first.
 */
const MAY_SCAN_POSTGRES =
  /SELECT COUNT\(\*\) FROM grants|(FROM|UPDATE|INTO) (signing_keys|data_keys|sweep_lease|setup_links|webhooks|event_streams)|FROM scim_tokens WHERE expires_at|^(DELETE FROM|UPDATE) (authorization_(transactions|codes)|device_authorizations WHERE client_id)|FROM (accounts|provider_tokens|connected_accounts)\s+WHERE (NOT EXISTS .*|ended_at IS NULL) LIMIT 1$/;
const SCANS_LARGE = /Seq Scan on (?!pg_)/;

async function callEveryMethod(whole: FullStore): Promise<void> {
  const done = new Set<string | symbol>();
  const store = new Proxy(whole, {
    get(target, name, receiver) {
      done.add(name);
      return Reflect.get(target, name, receiver);
    },
  });
  const [account, client] = [newAccount(), newClient()];
  await store.hasLocalAccounts();
  await store.saveSetupLink('link', NOW);
  await store.isSetupLink('link', NOW);
  await store.createFirstAccount(account, 'link');
  await store.findAccount(account.id);
  await store.findAccountByEmail(account.emailKey);
  await store.findAccountsByVerifiedEmail(account.emailKey);
  await store.saveProfile(account.id, { email: null, name: 'Ada', groups: ['engineers'] });
  await store.findProfile(account.id);
  await store.listProfileGroups('', 10);
  await store.replacePasswordHash(account.id, account.passwordHash, account.passwordHash);
  await store.changePassword(account.id, account.passwordHash, account.passwordHash, 'session');
  await store.saveSession(newSession(account.id, { hash: 'session' }), PASSWORD_HASH, 200);
  await store.findSession('session', NOW);
  const invited = newAccount();
  await store.createAccount(invited, newAccountLink(invited.id));
  await store.listAccounts('', 10);
  await store.saveAccountLink(newAccountLink(invited.id, { hash: 'reset' }));
  await store.findAccountLink('reset', NOW);
  await store.redeemAccountLink(
    'reset',
    { passwordHash: account.passwordHash, passkey: newPasskey(invited.id, { id: 'passkey' }) },
    NOW,
  );
  await store.saveSession(newSession(invited.id, { hash: 'theirs' }), PASSWORD_HASH);
  await store.addPasskey(newPasskey(invited.id), 'theirs');
  await store.findPasskey('passkey');
  await store.listPasskeys(invited.id);
  await store.recordPasskeyUse('passkey', 1, NOW);
  await store.removePasskey(invited.id, 'passkey');
  const factor = { accountId: invited.id, encryptedSecret: 'x', lastStep: 0, createdAt: NOW };
  await store.saveTotpFactor(factor, ['code'], 'theirs');
  await store.findTotpFactor(invited.id);
  await store.listTotpFactors('', 10);
  await store.reencryptTotpFactor(invited.id, factor.encryptedSecret, 'reencrypted');
  await store.consumeTotpStep(invited.id, 1);
  await store.consumeRecoveryCode(invited.id, 'code');
  await store.countRecoveryCodes(invited.id);
  await store.replaceRecoveryCodes(invited.id, ['another'], 'theirs');
  await store.removeTotpFactor(invited.id);
  await store.disableAccount(invited.id, NOW);
  await store.enableAccount(invited.id);
  await store.setAccountRole(invited.id, 'viewer');
  await store.removeAccount(invited.id, NOW);
  await store.listSessions(account.id, NOW);
  await store.endSessions(account.id, 'session');
  await store.endProviderSessions({
    accountId: account.id,
    providerSession: 'theirs',
    before: NOW,
    now: NOW,
  });
  await store.endSession('session');
  await store.saveClient(client);
  const charge = { key: 'registration', limit: { burst: 1, interval: 1 }, now: NOW };
  await store.registerClient(newClient(), charge, 'network');
  await store.registerClient(newClient(), charge, null);
  await store.findClient(client.id);
  await store.listClients('', 10);
  await store.countUnusedClients();
  await store.countUnusedClientsByNetwork();
  await store.updateClient(client.id, client);
  await store.rotateClientSecret(client.id, 'secret', NOW);
  const personal = grantOf(newCode({ accountId: account.id }));
  await store.savePersonalAccessToken({ grantId: personal.id, hash: 'pat', name: 'CI' }, personal);
  await store.findPersonalAccessToken(personal.id);
  await store.recordPersonalAccessTokenUse(personal.id, NOW);
  const list = { server: '/files', backend: 'http://a', kind: 'tool' } as const;
  const tool = { name: 'a', hash: 'b', definition: '{}' };
  await store.saveFirstPins(list, [tool], NOW);
  await store.savePendingPin(list, { ...tool, hash: 'c' }, NOW);
  await store.findPins(list);
  await store.listPendingPins(10);
  await store.listPendingPins(10, { server: '/files' });
  await store.listPendingPins(10, { server: '/files', name: 'a' });
  await store.countPendingPins();
  await store.decidePendingPin('approve', list, tool, NOW);
  await store.decidePendingPin('reject', list, tool, NOW);
  await store.replaceMemberPins(list, [{ ...tool, membersHash: 'd' }]);
  await store.recordClientUse(client.id, NOW, null);
  await store.disableClient(client.id, NOW);
  await store.enableClient(client.id, NOW);
  await store.saveClientVerification(client.id, client.metadata, NOW);
  await store.removeClient(client.id, NOW);
  const initialAccessToken = newInitialAccessToken();
  await store.saveInitialAccessToken(initialAccessToken);
  await store.findInitialAccessToken(initialAccessToken.hash, NOW);
  await store.listInitialAccessTokens('', 10, NOW);
  await store.registerClientWithInitialAccessToken(newClient(), initialAccessToken.hash);
  await store.revokeInitialAccessToken(initialAccessToken.id);
  const copy = newClientDocument();
  await store.saveClientMetadataDocument(copy);
  await store.findClientMetadataDocument(copy.url);
  await store.listClientMetadataDocuments('', 10);
  await store.saveClientMetadataDocumentVerification(copy.url, copy.digest, NOW);
  await store.recordClientMetadataDocumentUse(copy.url, NOW, NOW);
  await store.consumeClientAssertion('assertion', NOW);
  await store.openTransaction(newTransaction());
  await store.countAnonymousTransactions(NOW);
  await store.countAnonymousTransactionsByNetwork(NOW);
  await store.listSigningKeys();
  const [key] = await store.addSigningKey(newKey(), null);
  await store.reencryptSigningKeys(new Map([[key?.id ?? '', new Uint8Array(1)]]));
  await store.removeSigningKeys([key?.id ?? '']);
  await store.appendEvents([newEvent()]);
  await store.listEvents('', 10);
  await store.listLatestEvents(10);
  await store.listLatestEvents(10, 'z');
  await store.searchEvents(
    { from: '0', before: '1', type: null, clientId: null, accountId: null, grantId: null, detail: null },
    10,
  );
  await store.listTransactionEvents('flow', 10);
  await store.chargeRateLimit('rate limit', { burst: 1, interval: 1 }, NOW);
  await store.chargeRateLimit('rate limit', { burst: 1, interval: 1 }, NOW);
  await store.findTransaction('flow', NOW);
  await store.setTransactionAccount('flow', account.id);
  await store.completeTransaction('flow', null);
  const code = await issueSampleCode(store);
  await store.issueCode(newCode());
  await store.findCode(code.hash);
  await store.invalidateCode(code.hash, NOW);
  await store.redeemCode(code.hash, grantOf(code), null, NOW);
  const { grant, token } = await createGrant(store);
  await store.findGrant(grant.id);
  await store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null);
  await store.rotateRefreshToken(grant.id, token.hash, newRefreshToken(), null, 'key');
  await store.listGrants(grant.accountId, NOW, null, 10);
  await store.findNewestConsent(grant.accountId, grant.clientId, null, NOW);
  await store.listConsents(grant.accountId, grant.clientId, null, NOW);
  await store.listGrantsOfClient(grant.clientId, NOW, 9);
  await store.hasClientGrants(grant.accountId, grant.clientId, 9);
  await store.revokeSurplusGrants(grant.accountId, grant.clientId, 9, NOW);
  await store.findNewestConsent(grant.accountId, grant.clientId, grant.consentDigest, NOW);
  await store.listConsents(grant.accountId, grant.clientId, grant.consentDigest, NOW);
  await store.revokeAccountGrants(grant.accountId, grant.id, NOW);
  await store.revokeAccountGrants(grant.accountId, null, NOW);
  await store.revokeGrant(grant.id, NOW);
  await store.revokeAccessToken('jti', NOW);
  await store.isAccessTokenLive('jti', grant.id);
  await store.isAccessTokenLive('jti', null);
  await store.listRevokedGrants(NOW);
  await callFederationMethods(store);
  await callManagedGrants(store, grant);
  await callDeviceAuthorizations(store);
  await callApprovals(store, grant.id);
  await callProvisioning(store);
  await callWebhooks(store);
  await callEventStreams(store);
  await callEventHours(store);
  await store.sweep(NOW, 10);
  await store.ping();
  await store.checkWritable(NOW);
  await store.readClock();
  const left = Object.keys(whole).filter((name) => !done.has(name));
  // Neither sends a query.
  expect(left).toEqual(['beforeCommit', 'close']);
}

async function callManagedGrants(store: AuthorizationStore, grant: GrantRecord): Promise<void> {
  const account = newAccount();
  await store.findAssertedIdentity('issuer', 'subject');
  await store.linkAssertedIdentity('issuer', 'subject', account.id);
  await store.saveManagedGrant({ ...grant, id: 'managed', managedBy: 'issuer' });
}

async function callDeviceAuthorizations(store: AuthorizationStore): Promise<void> {
  const device = newDeviceAuthorization();
  await store.saveDeviceAuthorization(device);
  await store.findDeviceAuthorizationByUserCode(device.userCodeHash, NOW);
  await store.findDeviceAuthorization(device.hash);
  await store.recordDevicePoll(device.hash, NOW, 5);
  await store.decideDeviceAuthorization(device.hash, null, NOW);
}

async function callApprovals(store: AuthorizationStore, grantId: string): Promise<void> {
  const approval = newApproval({ grantId, approverGroups: ['leads'] });
  await store.requestApproval(approval, { bySubject: 9, byServer: 9 });
  await store.findApproval(approval.id, NOW);
  await store.findApprovalOfCall(approval, NOW);
  await store.countPendingApprovals(NOW, 10);
  for (const filter of [{ all: true }, { subject: approval.subject }, { groups: ['leads'] }] as const)
    await store.listPendingApprovals(filter, NOW, 10);
  await store.decideApproval(approval.id, approved(), NOW);
  await store.consumeApprovals([approval.id], NOW);
}

async function callWebhooks(store: WebhookStore): Promise<void> {
  const progress = await store.leaseWebhook('siem', 'one', 'c0', NOW, NOW + 60);
  if (progress !== null) await store.saveWebhookProgress(progress, 'one');
  await store.releaseWebhook('siem', 'one');
  await store.listWebhooks();
  await store.rewindWebhook('siem', 'c1');
  await store.setWebhookCursor('siem', 'c1');
}

async function callEventStreams(store: EventStreamStore): Promise<void> {
  const stream = newEventStream();
  await store.createEventStream(stream, 5);
  await store.findEventStream(stream.id);
  await store.listEventStreams();
  await store.saveEventStream({ ...stream, version: 2 });
  await store.listGrantedResources('user_ada', NOW);
  await store.removeEventStream(stream.id);
}

async function callEventHours(store: EventHourStore): Promise<void> {
  await store.saveEventHour({ at: 1, counts: {}, keys: new Uint8Array(1) });
  await store.listEventHours(0, 2);
  await store.listEventHourKeys(0, 2);
  await store.countLive(NOW);
}

async function callProvisioning(store: AuthorizationStore): Promise<void> {
  const hash = 'scim token';
  const token = { id: hash, hash, identityProvider: 'acme', note: '', createdAt: NOW, expiresAt: NOW + 9 };
  await store.saveProvisioningToken(token);
  await store.findProvisioningToken(hash, NOW);
  await store.listProvisioningTokens(NOW);
  await store.revokeProvisioningToken(hash);
  const { accountId } = (await createGrant(store)).grant;
  const user = newProvisioned('ada', { accountId });
  await store.createProvisioned(user);
  const group = newProvisioned('Engineers', { kind: 'Group' });
  const add = Array.from({ length: 100 }, () => user.resource.id);
  await store.createProvisioned({ ...group, members: { clear: true, remove: add, add } });
  await store.linkProvisionedAccount(user.resource.id, accountId);
  await store.findProvisioned('acme', 'User', user.resource.id);
  const page = { after: '', skip: 0, limit: 10 };
  const key = { attribute: 'userName', value: 'ada' } as const;
  const filters = [
    { by: 'all' },
    { by: 'active', isActive: true },
    { by: 'change', since: NOW },
    { by: 'key', key },
  ] as const;
  for (const filter of filters) {
    await store.listProvisioned('acme', 'User', filter, page);
    await store.countProvisioned('acme', 'User', filter);
  }
  await store.listProvisionedMembers(group.resource.id, 10);
  await store.listProvisionedGroups(user.resource);
  const changed = { ...user.resource, version: 2 };
  await store.changeProvisioned({ ...user, resource: changed, account: 'disable' });
  await store.changeProvisioned({ ...user, resource: { ...changed, version: 3 }, account: 'enable' });
  await store.removeProvisioned({ ...changed, version: 3 }, true, NOW);
}

async function callConnectedAccountMethods(store: AuthorizationStore): Promise<void> {
  const [transaction, account] = [newTransaction(), newConnectedAccount()];
  await store.openTransaction(transaction);
  await store.saveConnectedAccount(account, transaction.id);
  await store.saveConnectedAccount(account, null);
  await store.saveEndedConnectedAccount(newConnectedAccount({ endedAt: NOW }));
  await store.hasConnectedAccounts();
  await store.findConnectedAccount(account);
  await store.listConnectedAccounts(account.grantId);
  await store.leaseConnectedAccount(account, 1, 'us', NOW, NOW + 9);
  await store.saveRefreshedConnectedAccount(account, 'us', newRefreshedTokens());
  await store.releaseConnectedAccount(account, 'us', null);
  await store.endConnectedAccountsOfRevokedGrants(NOW, NOW);
  await store.endConnectedAccount(account, 2, 'revoked_by_provider', NOW);
  await store.claimAccountRevocations(NOW, NOW + 9, 5);
  await store.postponeAccountRevocation(account, NOW);
  await store.completeAccountRevocation(account, account.version);
  const registration = { backend: '/github', clientId: null, issuer: 'issuer' };
  const encryptedRegistration = Uint8Array.of(1);
  await store.saveBackendRegistration({
    ...registration,
    encryptedRegistration,
    dataKeyId: 'data-key',
    createdAt: NOW,
  });
  await store.listBackendRegistrations(registration.backend, null);
  await store.removeBackendRegistration(registration);
}

async function callFederationMethods(store: AuthorizationStore): Promise<void> {
  const [transaction, account, providerTokens] = [newTransaction(), newAccount(), newProviderTokens()];
  await store.openTransaction(transaction);
  await store.setTransactionIdentityProvider(transaction.id, 'github');
  await store.saveFederatedLogin(newFederatedLogin({ stateHash: 'state' }));
  await store.findFederatedLogin('state', NOW);
  await store.consumeFederatedLogin('state', NOW);
  await store.linkIdentity(newLinkedIdentity({ accountId: account.id }), account);
  await store.findLinkedIdentity('issuer', 'subject');
  await store.findLinkedIdentityByAccount(account.id);
  await store.saveProviderTokens(transaction.id, providerTokens);
  await store.saveEndedProviderTokens(newProviderTokens({ endedAt: NOW }));
  await store.hasProviderTokens();
  await store.findProviderTokens(providerTokens.grantId);
  await store.listProviderTokens(providerTokens.accountId);
  await callConnectedAccountMethods(store);
  await store.recordProviderTokensCheck(providerTokens.grantId, NOW);
  await store.leaseProviderTokens(providerTokens.grantId, 1, 'us', NOW, NOW + 9);
  await store.saveRefreshedProviderTokens(providerTokens.grantId, 'us', newRefreshedTokens());
  await store.releaseProviderTokens(providerTokens.grantId, 'us', null);
  await store.endProviderTokensOfRevokedGrants(NOW, NOW);
  await store.endProviderTokens(providerTokens.grantId, 2, 'revoked_by_provider', NOW);
  await store.claimRevocationJobs(NOW, NOW + 9, 5);
  await store.countProviderTokensOfIdentity(
    providerTokens.issuer,
    providerTokens.subject,
    providerTokens.grantId,
  );
  await store.postponeRevocationJob(providerTokens.grantId, NOW);
  await store.completeRevocationJob(providerTokens.grantId, 2);
  const [first] = await store.addDataKey(newDataKey(), null);
  const keys = await store.addDataKey(newDataKey({ createdAt: NOW + 1 }), first?.id ?? null);
  await store.listDataKeys();
  await store.reencryptDataKeys(new Map(keys.map(({ id }) => [id, new Uint8Array(1)])));
  await store.removeUnusedDataKeys(NOW + 9);
  await store.discardDataKeys(['data-key'], NOW);
}

/** Wraps a database and reports every query. */
function observe(database: Database, report: (query: Query) => void): Database {
  const reported = <Q extends Query>(query: Q): Q => {
    report(query);
    return query;
  };
  function* observeSteps<T>(steps: Steps<T>): Steps<T> {
    let step = steps.next([]);
    while (!step.done) step = steps.next(yield reported(step.value));
    return step.value;
  }
  return {
    partitionsEvents: database.partitionsEvents,
    read: (query) => database.read(reported(query)),
    readCached: (table, query, make) => database.readCached(table, reported(query), make),
    write: (query, row) => database.write(reported(query), row),
    writeRows: (query, row) => database.writeRows(reported(query), row),
    changes: (query, row) => database.changes(reported(query), row),
    transact: <T>(steps: () => Steps<T>, operation: PostgresOperation<T>) =>
      database.transact(
        () => observeSteps(steps()),
        typeof operation === 'string' || operation === null
          ? operation
          : { ...operation, query: () => reported(operation.query()) },
      ),
    beforeCommit: (call, within) => database.beforeCommit(call, within),
    check: () => database.check(),
    readClock: () => database.readClock(),
    close: () => database.close(),
  };
}
