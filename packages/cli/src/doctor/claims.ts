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

export function pinnedClaims(revision: string): Claims {
  return { revisions: [revision], by: 'pinned', reason: 'pinned by --revision' };
}

/** Before discovery. */
export const unknownClaims: Claims = {
  revisions: profiles.map(({ revision }) => revision),
  by: 'evidence',
  reason: 'unknown, because discovery was not reached',
};

/** Infers the supported revisions from how discovery succeeded. */
export function inferClaims({ discovery }: Pick<Profile, 'discovery'>): Claims {
  if (discovery === 'server-origin') {
    const reason = 'there is no protected resource metadata, as in the oldest revision';
    return { revisions: [profileA.revision], by: 'evidence', reason };
  }
  return {
    revisions: profiles.filter((profile) => profile.discovery === discovery).map(({ revision }) => revision),
    by: 'evidence',
    reason:
      'it publishes protected resource metadata; only a signed-in client can ask which of these it supports',
  };
}

/**
 * Asks the server which revisions it supports: `server/discover` for the stateless ones, and a session for each older one.
 * @returns `null` if it supports no known revision
 */
export async function probeClaims(target: ProbeTarget): Promise<Claims | null> {
  const newest = await probeMcp(target);
  await newest.close();
  const claimed = new Set([newest.revision, ...newest.listed]);
  for (const { revision } of profiles) {
    if (claimed.has(revision) || revision === profileD.revision) continue;
    if (await supports(revision)) claimed.add(revision);
  }
  const revisions = profiles.map(({ revision }) => revision).filter((revision) => claimed.has(revision));
  return revisions.length === 0 ? null : { revisions, by: 'server', reason: 'stated by the server' };

  async function supports(revision: string): Promise<boolean> {
    try {
      const older = await probeMcp({ ...target, offer: revision });
      await older.close();
      return older.revision === revision;
    } catch {
      // Servers reject unsupported revisions in different ways.
      return false;
    }
  }
}

/** Maps a revision's date to its letter in docs/requirements. */
export function letterOf(revision: string): string {
  const profile = findProfile(revision);
  return profile === undefined ? '' : ('ABCD'[profiles.indexOf(profile)] ?? '');
}
