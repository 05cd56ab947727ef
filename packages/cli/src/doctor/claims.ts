/** Determines which revisions a server supports: as reported to a signed-in client, otherwise inferred from its metadata. */
import { findProfile, type Profile, profileA, profileD, profiles } from '@portcullis/protocol';
import { type ProbeTarget, probeMcp } from './mcp-probe.ts';

/** The revisions whose rules apply to a server. */
export interface Claims {
  /** Dates, oldest first. */
  readonly revisions: readonly string[];
  /**
   * `pinned` and `server`: all of them apply. `evidence`: it may support any of them, and the newest applies; violations of an
   * older one are only warnings.
   */
  readonly by: 'pinned' | 'server' | 'evidence';
  readonly reason: string;
}

const datesOf = (some: readonly Profile[]): readonly string[] => some.map(({ revision }) => revision);

export function pinnedClaims(revision: string): Claims {
  return { revisions: [revision], by: 'pinned', reason: 'pinned by --revision' };
}

/** Before discovery. */
export const unknownClaims: Claims = {
  revisions: datesOf(profiles),
  by: 'evidence',
  reason: 'unknown, because discovery was not reached',
};

/** Infers the supported revisions from how discovery succeeded. */
export function inferClaims({ discovery }: Pick<Profile, 'discovery'>): Claims {
  const reason =
    discovery === profileA.discovery
      ? 'there is no protected resource metadata, as in the oldest revision'
      : 'it publishes protected resource metadata; only a signed-in client can ask which of these it supports';
  const revisions = datesOf(profiles.filter((profile) => profile.discovery === discovery));
  return { revisions, by: 'evidence', reason };
}

/**
 * Asks the server which revisions it supports: `server/discover` lists the stateless ones, and a session states an older one.
 * @param stated by a connection
 * @returns `null` if it supports no known revision
 */
export async function askClaims(target: ProbeTarget, stated: readonly unknown[]): Promise<Claims | null> {
  const revisions: string[] = [];
  for (const { revision } of profiles)
    if (stated.includes(revision) || (revision !== profileD.revision && (await accepts(target, revision))))
      revisions.push(revision);
  return revisions.length === 0 ? null : { revisions, by: 'server', reason: 'stated by the server' };
}

async function accepts(target: ProbeTarget, offer: string): Promise<boolean> {
  try {
    const { revision, close } = await probeMcp(target, offer);
    await close();
    return revision === offer;
  } catch {
    // Servers reject unsupported revisions in different ways.
    return false;
  }
}

/** Maps a revision's date to its letter in docs/requirements. */
export function letterOf(revision: string): string {
  const profile = findProfile(revision);
  return profile === undefined ? '' : ('ABCD'[profiles.indexOf(profile)] ?? '');
}
