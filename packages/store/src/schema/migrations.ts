/** The schema, as the numbered migrations that made it. One that was ever released is never changed. */
import { clientInvitations } from './client-invitations.ts';
import type { Dialect } from './dialect.ts';
import { statuses } from './statuses.ts';
import { thirdParties } from './third-parties.ts';

export interface Migration {
  /** Ascending. */
  readonly number: number;
  readonly name: string;
  readonly statements: (dialect: Dialect) => readonly string[];
}

export const migrations: readonly Migration[] = [
  {
    number: 1,
    name: 'accounts, clients, transactions, grants and keys',
    statements: (dialect) => [
      ...accounts(dialect),
      ...clients(dialect),
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
    statements: (dialect) => keyLife(dialect),
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
    statements: secondFactors,
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
    statements: thirdParties,
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
    statements: clientInvitations,
  },
  {
    number: 16,
    name: 'what is asked most often is found in an index alone',
    statements: oftenAsked,
  },
];

// Lists and documents are JSON in text. Times are epoch seconds. Hashes are base64url SHA-256. What may be deleted after
// some time has an index by that time: such rows arrive in its order, so the index costs almost nothing.

function accounts({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE accounts (
      id ${text} PRIMARY KEY NOT NULL,
      email ${text} NOT NULL,
      email_key ${text} NOT NULL UNIQUE,
      password_hash ${text} NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
      created_at ${integer} NOT NULL,
      disabled_at ${integer}
    ) ${table}`,
    `CREATE TABLE setup_links (
      hash ${text} PRIMARY KEY NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE sessions (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX sessions_by_account ON sessions (account_id)',
    'CREATE INDEX sessions_by_expiry ON sessions (expires_at)',
  ];
}

function clients({ text, integer, bytes, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE clients (
      id ${text} PRIMARY KEY NOT NULL,
      origin ${text} NOT NULL,
      metadata ${text} NOT NULL,
      secret_hash ${text},
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE signing_keys (
      id ${text} PRIMARY KEY NOT NULL,
      algorithm ${text} NOT NULL,
      public_jwk ${text} NOT NULL,
      sealed_private_key ${bytes} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
  ];
}

/** `state` is JSON too: it is the one text that a stranger chooses freely, and PostgreSQL's text cannot hold U+0000. */
function transactions({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE transactions (
      id ${text} PRIMARY KEY NOT NULL,
      browser_hash ${text} NOT NULL,
      client_id ${text} NOT NULL,
      redirect_uri ${text} NOT NULL,
      redirect_uri_sent ${integer} NOT NULL,
      state ${text} NOT NULL,
      code_challenge ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      account_id ${text},
      approved ${text} NOT NULL,
      fresh_login ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX transactions_by_expiry ON transactions (expires_at)',
  ];
}

/**
 * A refresh token points at its grant without a foreign key and without an index by grant: each would cost every rotation
 * a page. A token whose grant is gone is nobody's, and leaves when it expires.
 */
function grants({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE codes (
      hash ${text} PRIMARY KEY NOT NULL,
      grant_id ${text} NOT NULL,
      client_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      redirect_uri ${text},
      code_challenge ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      issued_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      spent_at ${integer}
    ) ${table}`,
    'CREATE INDEX codes_by_expiry ON codes (expires_at)',
    `CREATE TABLE grants (
      id ${text} PRIMARY KEY NOT NULL,
      client_id ${text} NOT NULL,
      account_id ${text} NOT NULL,
      scopes ${text} NOT NULL,
      resources ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      revoked_at ${integer}
    ) ${table}`,
    'CREATE INDEX grants_by_expiry ON grants (expires_at)',
    'CREATE INDEX grants_by_revocation ON grants (revoked_at) WHERE revoked_at IS NOT NULL',
    `CREATE TABLE refresh_tokens (
      hash ${text} PRIMARY KEY NOT NULL,
      grant_id ${text} NOT NULL,
      issued_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      rotated_at ${integer}
    ) ${table}`,
    'CREATE INDEX refresh_tokens_by_expiry ON refresh_tokens (expires_at)',
    `CREATE TABLE revoked_access_tokens (
      id ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX revoked_access_tokens_by_expiry ON revoked_access_tokens (expires_at)',
  ];
}

/**
 * Clients that expire stand in one of two indexes: those never used, which are counted, and the others. Clients from before
 * have ninety days from their beginning, or as long as they hold a grant.
 */
function clientLife({ text, integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE clients ADD COLUMN management_hash ${text}`,
    `ALTER TABLE clients ADD COLUMN last_used_at ${integer}`,
    `ALTER TABLE clients ADD COLUMN expires_at ${integer}`,
    `UPDATE clients SET last_used_at = created_at, expires_at = created_at + 7776000 WHERE origin = 'registered'`,
    'CREATE INDEX clients_unused ON clients (expires_at) WHERE last_used_at IS NULL AND expires_at IS NOT NULL',
    'CREATE INDEX clients_used ON clients (expires_at) WHERE last_used_at IS NOT NULL AND expires_at IS NOT NULL',
    'CREATE INDEX grants_by_client ON grants (client_id)',
  ];
}

function clientDocuments({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE client_documents (
      url ${text} PRIMARY KEY NOT NULL,
      metadata ${text} NOT NULL,
      digest ${text} NOT NULL,
      etag ${text},
      last_modified ${text},
      fetched_at ${integer} NOT NULL,
      fresh_until ${integer} NOT NULL,
      last_used_at ${integer},
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX client_documents_by_expiry ON client_documents (expires_at)',
  ];
}

function assertions({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE spent_assertions (
      hash ${text} PRIMARY KEY NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX spent_assertions_by_expiry ON spent_assertions (expires_at)',
  ];
}

/** What was not noted before is taken to have been used when it began. */
function usage({ text, integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE sessions ADD COLUMN address ${text}`,
    `ALTER TABLE sessions ADD COLUMN browser ${text}`,
    `ALTER TABLE grants ADD COLUMN last_used_at ${integer} NOT NULL DEFAULT 0`,
    `ALTER TABLE grants ADD COLUMN last_used_from ${text}`,
    'UPDATE grants SET last_used_at = created_at',
    'CREATE INDEX grants_by_account ON grants (account_id) WHERE revoked_at IS NULL',
  ];
}

/** What was allowed before was allowed on terms that nobody noted: it is asked for again. */
function consents({ text }: Dialect): readonly string[] {
  return ['codes', 'grants'].flatMap((table) => [
    `ALTER TABLE ${table} ADD COLUMN workspace ${text}`,
    `ALTER TABLE ${table} ADD COLUMN terms ${text} NOT NULL DEFAULT ''`,
  ]);
}

/** A key from before signs since it was made. */
function keyLife({ integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE signing_keys ADD COLUMN signs_from ${integer} NOT NULL DEFAULT 0`,
    'UPDATE signing_keys SET signs_from = created_at',
  ];
}

function accountLinks({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE account_links (
      hash ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      purpose ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX account_links_by_account ON account_links (account_id)',
    'CREATE INDEX account_links_by_expiry ON account_links (expires_at)',
  ];
}

function passkeys({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE passkeys (
      id ${text} PRIMARY KEY NOT NULL,
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      public_key ${text} NOT NULL,
      counter ${integer} NOT NULL,
      transports ${text} NOT NULL,
      name ${text} NOT NULL,
      created_at ${integer} NOT NULL,
      last_used_at ${integer}
    ) ${table}`,
    'CREATE INDEX passkeys_by_account ON passkeys (account_id)',
  ];
}

/** The keys are hashes: of whom they are, nobody can read. */
function sharedLimits({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE turns (
      key ${text} PRIMARY KEY NOT NULL,
      due_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX turns_by_due ON turns (due_at)',
  ];
}

function secondFactors({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE second_factors (
      account_id ${text} PRIMARY KEY NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      sealed_secret ${text} NOT NULL,
      last_step ${integer} NOT NULL,
      created_at ${integer} NOT NULL
    ) ${table}`,
    `CREATE TABLE recovery_codes (
      account_id ${text} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
      hash ${text} NOT NULL,
      PRIMARY KEY (account_id, hash)
    ) ${table}`,
  ];
}

/** Rows arrive in the order of their identifiers, so each is written at the end of the table and of one index. */
function auditLog({ text, integer, table }: Dialect): readonly string[] {
  return [
    `CREATE TABLE events (
      id ${text} PRIMARY KEY NOT NULL,
      at ${integer} NOT NULL,
      type ${text} NOT NULL,
      client_id ${text},
      account_id ${text},
      grant_id ${text},
      resource ${text},
      flow_id ${text},
      details ${text} NOT NULL,
      expires_at ${integer} NOT NULL
    ) ${table}`,
    'CREATE INDEX events_by_flow ON events (flow_id) WHERE flow_id IS NOT NULL',
    'CREATE INDEX events_by_expiry ON events (expires_at)',
  ];
}

/**
 * The live refresh token stands in the row of its grant. Tokens given out before do not name their grant: those that were live
 * stay findable by their hash until they expire. Their ancestors are forgotten.
 */
function refreshTokenFamilies({ text, integer }: Dialect): readonly string[] {
  return [
    `ALTER TABLE grants ADD COLUMN token_hash ${text}`,
    `ALTER TABLE grants ADD COLUMN token_number ${integer}`,
    `ALTER TABLE grants ADD COLUMN token_seed ${text}`,
    `ALTER TABLE grants ADD COLUMN token_issued_at ${integer}`,
    `ALTER TABLE grants ADD COLUMN token_expires_at ${integer}`,
    `ALTER TABLE grants ADD COLUMN token_rotations ${text}`,
    'DELETE FROM refresh_tokens WHERE rotated_at IS NOT NULL',
    `UPDATE grants SET token_hash = t.hash, token_number = 0, token_seed = '', token_issued_at = t.issued_at,
        token_expires_at = t.expires_at, token_rotations = ''
      FROM refresh_tokens t WHERE t.grant_id = grants.id`,
    'ALTER TABLE refresh_tokens RENAME TO former_refresh_tokens',
  ];
}

/** Whether an account stands is asked at each refresh, and what it allowed a client at each authorization request. */
function oftenAsked(): readonly string[] {
  return [
    'CREATE INDEX accounts_standing ON accounts (id, disabled_at)',
    'CREATE INDEX grants_by_account_and_client ON grants (account_id, client_id, created_at) WHERE revoked_at IS NULL',
    'DROP INDEX grants_by_account',
  ];
}
