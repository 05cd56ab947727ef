/** The schema, as the numbered migrations that made it. One that was ever released is never changed. */
import { initialAccessTokens } from './client-invitations.ts';
import { assertions, clientDocuments, clientLife, clients, networksOfClients } from './clients.ts';
import type { Dialect } from './dialect.ts';
import { consents, grants, oftenAsked, refreshTokenFamilies, transactions, usage } from './grants.ts';
import { auditLog, keyLife, sharedLimits, signingKeys } from './operation.ts';
import { accountLinks, accounts, passkeys, totpFactors } from './people.ts';
import { statuses } from './statuses.ts';
import { identityProviders } from './third-parties.ts';

export interface Migration {
  /** Ascending. */
  readonly number: number;
  readonly name: string;
  readonly statements: (dialect: Dialect) => readonly string[];
}

/**
 * Lists and documents are JSON in text. Times are epoch seconds. Hashes are base64url SHA-256. What may be deleted after some
 * time has an index by that time: such rows arrive in its order, so the index costs almost nothing.
 */
export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: 'accounts, clients, transactions, grants and keys',
    statements: (dialect) => [
      ...accounts(dialect),
      ...clients(dialect),
      ...signingKeys(dialect),
      ...transactions(dialect),
      ...grants(dialect),
    ],
  },
  {
    number: 2,
    name: 'the life of clients, metadata documents, assertions',
    statements: (dialect) => [...clientLife(dialect), ...clientDocuments(dialect), ...assertions(dialect)],
  },
  {
    number: 3,
    name: 'when and where grants and sessions are used',
    statements: usage,
  },
  {
    number: 4,
    name: 'links by which owners of accounts choose how to sign in',
    statements: accountLinks,
  },
  {
    number: 5,
    name: 'since when keys sign',
    statements: keyLife,
  },
  {
    number: 6,
    name: 'passkeys',
    statements: passkeys,
  },
  {
    number: 7,
    name: 'what was consented to',
    statements: consents,
  },
  {
    number: 8,
    name: 'second factors',
    statements: totpFactors,
  },
  {
    number: 9,
    name: 'limits that processes share',
    statements: sharedLimits,
  },
  {
    number: 10,
    name: 'the audit log',
    statements: auditLog,
  },
  {
    number: 11,
    name: 'one refresh token a grant',
    statements: refreshTokenFamilies,
  },
  {
    number: 12,
    name: 'third parties',
    statements: identityProviders,
  },
  {
    number: 13,
    name: 'clients that are disabled',
    statements: ({ integer }) => [`ALTER TABLE clients ADD COLUMN disabled_at ${integer}`],
  },
  {
    number: 14,
    name: 'published statuses',
    statements: statuses,
  },
  {
    number: 15,
    name: 'invitations by which clients register',
    statements: initialAccessTokens,
  },
  {
    number: 16,
    name: 'what is asked most often is found in an index alone',
    statements: oftenAsked,
  },
  {
    number: 17,
    name: 'from which networks clients register',
    statements: networksOfClients,
  },
];
