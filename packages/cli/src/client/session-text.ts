/** A session in words, and as the JSON that programs read. */
import type { Session } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';

/** ISO 8601 instead of milliseconds. */
export function sessionShape({ expiresAt, ...session }: Session): object {
  return { ...session, expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString() };
}

export function sessionLines(session: Session): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['server', session.server],
    ['account', session.account],
    ['authorized by', session.issuer],
    ['client', session.clientId],
    [
      'scopes',
      session.scopes.length === 0 ? 'those that the server gives by default' : session.scopes.join(' '),
    ],
    ['token', `${session.scheme}, ${endOf(session)}`],
    ['kept in', session.place],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${cleanLine(value)}`);
}

function endOf({ expiresAt, refreshable }: Session): string {
  const renewed = refreshable ? ', renewed by itself' : '';
  if (expiresAt === null) return `without a known end${renewed}`;
  return `until ${new Date(expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC${renewed}`;
}
