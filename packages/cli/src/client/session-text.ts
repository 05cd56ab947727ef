/** Formats a session as text for users and as JSON for programs. */
import type { Session } from '@portcullis/client';
import { cleanLine } from '../terminal/clean.ts';

/** The session with its times in ISO 8601. */
export function sessionJson({ since, expiresAt, ...session }: Omit<Session, 'location'>): object {
  return { ...session, since: iso(since), expiresAt: iso(expiresAt) };
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

/** Describes the user or application of a session. */
export function describeActor({ kind, clientId }: Pick<Session, 'kind' | 'clientId'>): string {
  if (kind === 'user') return `you, through the client ${clientId}`;
  return `the ${kind} ${clientId} itself`;
}

/** Formats a time to the minute. */
export function shortTime(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

export function sessionLines(session: Session): readonly string[] {
  const rows: readonly (readonly [string, string])[] = [
    ['server', session.server],
    ['account', session.account],
    ['issuer', session.issuer],
    ['acts for', describeActor(session)],
    ['scopes', session.scopes.length === 0 ? 'the defaults of the server' : session.scopes.join(' ')],
    ['token', `${session.scheme}, ${endOf(session)}`],
    ['stored in', session.location],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${cleanLine(value)}`);
}

function endOf({ expiresAt, refreshable }: Session): string {
  const renewed = refreshable ? ', refreshed automatically' : '';
  if (expiresAt === null) return `without a known expiry${renewed}`;
  return `until ${shortTime(expiresAt)}${renewed}`;
}
