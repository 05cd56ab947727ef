/** The schema of grants: how one begins, what it allows, and its one refresh token. */
import type { Dialect } from './dialect.ts';

/** `state` is JSON too: it is the one text that a stranger chooses freely, and PostgreSQL's text cannot hold U+0000. */
export function transactions({ text, integer, table }: Dialect): readonly string[] {
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
export function grants({ text, integer, table }: Dialect): readonly string[] {
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

/** What was not noted before is taken to have been used when it began. */
export function usage({ text, integer }: Dialect): readonly string[] {
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
export function consents({ text }: Dialect): readonly string[] {
  return ['codes', 'grants'].flatMap((table) => [
    `ALTER TABLE ${table} ADD COLUMN workspace ${text}`,
    `ALTER TABLE ${table} ADD COLUMN terms ${text} NOT NULL DEFAULT ''`,
  ]);
}

/**
 * The live refresh token stands in the row of its grant. Tokens given out before do not name their grant: those that were live
 * stay findable by their hash until they expire. Their ancestors are forgotten.
 */
export function refreshTokenFamilies({ text, integer }: Dialect): readonly string[] {
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
export function oftenAsked(): readonly string[] {
  return [
    'CREATE INDEX accounts_standing ON accounts (id, disabled_at)',
    'CREATE INDEX grants_by_account_and_client ON grants (account_id, client_id, created_at) WHERE revoked_at IS NULL',
    'DROP INDEX grants_by_account',
  ];
}
