/** Sample records of federation for the contract, each new and complete. */
import { randomBytes } from 'node:crypto';
import type {
  ConnectedAccountRecord,
  DataKeyRecord,
  FederatedLoginRecord,
  LinkedIdentityRecord,
  ProviderTokensRecord,
  RefreshedTokens,
  UpstreamTokens,
} from '@portcullis/authorization-server/store';
import { NOW, newHash } from './samples.ts';

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(16).toString('base64url')}`;
}

export function newFederatedLogin(changes: Partial<FederatedLoginRecord> = {}): FederatedLoginRecord {
  return {
    stateHash: newHash(),
    browserHash: newHash(),
    identityProvider: 'github',
    backend: null,
    transactionId: newId('flow'),
    returnTo: null,
    accountId: null,
    approvedScopes: ['notes:read'],
    workspace: null,
    encryptedSecrets: Uint8Array.from({ length: 96 }, (_, index) => index),
    expiresAt: NOW + 600,
    ...changes,
  };
}

export function newLinkedIdentity(changes: Partial<LinkedIdentityRecord> = {}): LinkedIdentityRecord {
  return { issuer: 'https://github.com', subject: newHash(), accountId: newId('user'), ...changes };
}

function newUpstreamTokens(): UpstreamTokens {
  return {
    grantId: newId('grant'),
    accountId: newId('user'),
    encryptedTokens: Uint8Array.from({ length: 256 }, (_, index) => index),
    dataKeyId: newId('data-key'),
    scopes: ['repo', 'read:user'],
    expiresAt: NOW + 3600,
    isRefreshable: true,
    refreshFrom: NOW + 3540,
    checkedAt: NOW,
    version: 1,
    leaseHolder: null,
    leaseUntil: null,
    createdAt: NOW,
    endedAt: null,
    endReason: null,
    dueAt: NOW + 1000,
    revocationAttempts: 0,
  };
}

export function newProviderTokens(changes: Partial<ProviderTokensRecord> = {}): ProviderTokensRecord {
  return {
    ...newUpstreamTokens(),
    identityProvider: 'github',
    issuer: 'https://github.com',
    subject: newHash(),
    name: 'Ünïcode 🗝',
    ...changes,
  };
}

export function newConnectedAccount(changes: Partial<ConnectedAccountRecord> = {}): ConnectedAccountRecord {
  return { ...newUpstreamTokens(), backend: '/github', connection: newHash(), ...changes };
}

export function newRefreshedTokens(changes: Partial<RefreshedTokens> = {}): RefreshedTokens {
  return {
    encryptedTokens: Uint8Array.of(4, 5, 6),
    dataKeyId: newId('data-key'),
    scopes: ['repo'],
    expiresAt: NOW + 7200,
    isRefreshable: true,
    refreshFrom: NOW + 7140,
    checkedAt: NOW + 10,
    ...changes,
  };
}

export function newDataKey(changes: Partial<DataKeyRecord> = {}): DataKeyRecord {
  return { id: newId('data-key'), encryptedKey: Uint8Array.of(1, 2, 3), createdAt: NOW, ...changes };
}
