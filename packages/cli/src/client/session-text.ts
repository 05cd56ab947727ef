/** A session in words, and as the JSON that programs read. */
import type { Session } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';

/** ISO 8601 instead of milliseconds. */
export function sessionShape({ since, expiresAt, ...session }: Omit<Session, 'location'>): object {
  return { ...session, since: iso(since), expiresAt: iso(expiresAt) };
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Who acts by a session, in words. */
export function actorOf({ kind, clientId }: Pick<Session, 'kind' | 'clientId'>): string {
  if (kind === 'user') return `you, by the client ${clientId}`;
  return `the ${kind} ${clientId} itself`;
}

/** Minutes are enough for people. */
export function shortTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

export function sessionLines(session: Session): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['server', session.server],
    ['account', session.account],
    ['authorized by', session.issuer],
    ['who acts', actorOf(session)],
    [
      'scopes',
      session.scopes.length === 0 ? 'those that the server gives by default' : session.scopes.join(' '),
    ],
    ['token', `${session.scheme}, ${endOf(session)}`],
    ['kept in', session.location],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${cleanLine(value)}`);
}

function endOf({ expiresAt, refreshable }: Session): string {
  const renewed = refreshable ? ', renewed by itself' : '';
  if (expiresAt === null) return `without a known end${renewed}`;
  return `until ${shortTime(expiresAt)}${renewed}`;
}
