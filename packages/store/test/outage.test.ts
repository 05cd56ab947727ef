/** Which database errors are outages, to be retried, and which mean that the statement is wrong. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import * as postgres from '../src/postgres/outage.ts';
import * as sqlite from '../src/sqlite/outage.ts';

const failed = (message: string, codes: object) => Object.assign(new Error(message), codes);
const sqliteError = (errcode: number) => failed('it failed', { code: 'ERR_SQLITE_ERROR', errcode });

const outages = [
  { description: 'SQLite is locked', error: sqlite.asSqliteOutage(sqliteError(5)) },
  {
    description: 'SQLite is locked by a snapshot (extended code)',
    error: sqlite.asSqliteOutage(sqliteError(517)),
  },
  { description: "SQLite's disk is full", error: sqlite.asSqliteOutage(sqliteError(13)) },
  { description: "SQLite's disk fails (extended code)", error: sqlite.asSqliteOutage(sqliteError(778)) },
  {
    description: 'SQLite is closed',
    error: sqlite.asSqliteOutage(failed('not open', { code: 'ERR_INVALID_STATE' })),
  },
  {
    description: 'PostgreSQL is unreachable',
    error: postgres.asPostgresOutage(failed('connect', { code: 'ECONNREFUSED' })),
  },
  {
    description: 'PostgreSQL is shut down',
    error: postgres.asPostgresOutage(failed('bye', { code: '57P01' })),
  },
  {
    description: 'PostgreSQL has no connections left',
    error: postgres.asPostgresOutage(failed('many', { code: '53300' })),
  },
  {
    description: 'PostgreSQL has become a replica',
    error: postgres.asPostgresOutage(failed('read only', { code: '25006' })),
  },
  { description: 'PostgreSQL is silent', error: postgres.asPostgresOutage(new Error('Query read timeout')) },
];

const otherErrors = [
  { description: 'a SQLite constraint', error: sqliteError(1555), mapError: sqlite.asSqliteOutage },
  { description: 'a wrong SQLite statement', error: sqliteError(1), mapError: sqlite.asSqliteOutage },
  {
    description: 'a TypeError beside SQLite',
    error: new TypeError('undefined'),
    mapError: sqlite.asSqliteOutage,
  },
  {
    description: 'a PostgreSQL constraint',
    error: failed('taken', { code: '23505' }),
    mapError: postgres.asPostgresOutage,
  },
  {
    description: 'a wrong PostgreSQL statement',
    error: failed('no', { code: '42601' }),
    mapError: postgres.asPostgresOutage,
  },
  {
    description: 'a text that PostgreSQL cannot hold',
    error: failed('0x00', { code: '22021' }),
    mapError: postgres.asPostgresOutage,
  },
  {
    description: 'a TypeError beside PostgreSQL',
    error: new TypeError('undefined'),
    mapError: postgres.asPostgresOutage,
  },
];

describe('an outage', () => {
  it.each(outages)('classifies as an outage that $description', ({ error }) => {
    expect(error).toBeInstanceOf(OAuthError);
    expect(error).toMatchObject({ code: 'temporarily_unavailable', status: 503, retryAfter: 5 });
  });

  it.each(otherErrors)('does not classify as an outage: $description', ({ error, mapError }) => {
    expect(mapError(error)).toBe(error);
  });

  it('wraps an outage once', () => {
    const outage = temporarilyUnavailable('an earlier outage');
    expect(sqlite.asSqliteOutage(outage)).toBe(outage);
    expect(postgres.asPostgresOutage(outage)).toBe(outage);
  });

  it('retries at once only after a lost connection or a conflict of transactions', () => {
    expect(postgres.isConnectionLost(failed('bye', { code: '57P01' }))).toBe(true);
    expect(postgres.isConnectionLost(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(postgres.isConnectionLost(new Error('Query read timeout'))).toBe(false);
    expect(postgres.isConflict(failed('deadlock', { code: '40P01' }))).toBe(true);
    expect(postgres.isConflict(failed('taken', { code: '23505' }))).toBe(false);
  });
});
