/** Which database errors are outages, to be retried, and which mean that the statement is wrong. */
import { OAuthError, temporarilyUnavailable } from '@portcullis/protocol';
import { describe, expect, it } from 'vitest';
import * as postgres from '../src/postgres/postgres-database.ts';
import * as sqlite from '../src/sqlite/outage.ts';

const failed = (message: string, codes: object) => Object.assign(new Error(message), codes);
const sqliteError = (errcode: number) => failed('it failed', { code: 'ERR_SQLITE_ERROR', errcode });

const outages = [
  { description: 'SQLite is locked', told: sqlite.asSqliteOutage(sqliteError(5)) },
  {
    description: 'SQLite is locked by a snapshot (extended code)',
    told: sqlite.asSqliteOutage(sqliteError(517)),
  },
  { description: "SQLite's disk is full", told: sqlite.asSqliteOutage(sqliteError(13)) },
  { description: "SQLite's disk fails (extended code)", told: sqlite.asSqliteOutage(sqliteError(778)) },
  {
    description: 'SQLite is closed',
    told: sqlite.asSqliteOutage(failed('not open', { code: 'ERR_INVALID_STATE' })),
  },
  {
    description: 'PostgreSQL is not there',
    told: postgres.asPostgresOutage(failed('connect', { code: 'ECONNREFUSED' })),
  },
  {
    description: 'PostgreSQL is shut down',
    told: postgres.asPostgresOutage(failed('bye', { code: '57P01' })),
  },
  {
    description: 'PostgreSQL has no connection left',
    told: postgres.asPostgresOutage(failed('many', { code: '53300' })),
  },
  {
    description: 'PostgreSQL became a replica',
    told: postgres.asPostgresOutage(failed('read only', { code: '25006' })),
  },
  { description: 'PostgreSQL is silent', told: postgres.asPostgresOutage(new Error('Query read timeout')) },
];

const issues = [
  { description: 'a SQLite constraint', error: sqliteError(1555), tell: sqlite.asSqliteOutage },
  { description: 'a wrong SQLite statement', error: sqliteError(1), tell: sqlite.asSqliteOutage },
  {
    description: 'a mistake of this program',
    error: new TypeError('undefined'),
    tell: sqlite.asSqliteOutage,
  },
  {
    description: 'a PostgreSQL constraint',
    error: failed('taken', { code: '23505' }),
    tell: postgres.asPostgresOutage,
  },
  {
    description: 'a wrong PostgreSQL statement',
    error: failed('no', { code: '42601' }),
    tell: postgres.asPostgresOutage,
  },
  {
    description: 'a text that PostgreSQL cannot hold',
    error: failed('0x00', { code: '22021' }),
    tell: postgres.asPostgresOutage,
  },
  {
    description: 'a mistake beside PostgreSQL',
    error: new TypeError('undefined'),
    tell: postgres.asPostgresOutage,
  },
];

describe('an outage', () => {
  it.each(outages)('is that $description', ({ told }) => {
    expect(told).toBeInstanceOf(OAuthError);
    expect(told).toMatchObject({ code: 'temporarily_unavailable', status: 503, retryAfter: 5 });
  });

  it.each(issues)('is not $description', ({ error, tell }) => {
    expect(tell(error)).toBe(error);
  });

  it('is told once', () => {
    const outage = temporarilyUnavailable('told before');
    expect(sqlite.asSqliteOutage(outage)).toBe(outage);
    expect(postgres.asPostgresOutage(outage)).toBe(outage);
  });

  it('may be over at once only when a connection was cut or a transaction met another', () => {
    expect(postgres.isConnectionLost(failed('bye', { code: '57P01' }))).toBe(true);
    expect(postgres.isConnectionLost(new Error('Connection terminated unexpectedly'))).toBe(true);
    expect(postgres.isConnectionLost(new Error('Query read timeout'))).toBe(false);
    expect(postgres.isConflict(failed('deadlock', { code: '40P01' }))).toBe(true);
    expect(postgres.isConflict(failed('taken', { code: '23505' }))).toBe(false);
  });
});
