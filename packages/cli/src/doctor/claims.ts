/** Which revisions a server claims to speak: what it says to who is let in, else what it has published. */
import type { Fetch } from '@portcullis/client';
import { findProfile, type Profile, profileA, profileD, profiles } from '@portcullis/protocol';
import { probeMcp } from './mcp-probe.ts';

/** What a server is judged by. */
export interface Claims {
  /** By their dates, oldest first. */
  readonly revisions: readonly string[];
  /**
   * `pinned` and `server`: it is bound by all of them. `evidence`: it may speak any of them, and is met by the newest; what
   * breaks only an older one is no more than advice.
   */
  readonly by: 'pinned' | 'server' | 'evidence';
  readonly reason: string;
}

export function pinnedClaims(revision: string): Claims {
  return { revisions: [revision], by: 'pinned', reason: 'it is pinned by --revision' };
}

/** Of a server that has not answered yet. */
export const unknownClaims: Claims = {
  revisions: profiles.map(({ revision }) => revision),
  by: 'evidence',
  reason: 'nothing is known of it yet: it has not answered',
};

/** What the way in which a server is met tells about its revisions. */
export function evidentClaims({ discovery }: Pick<Profile, 'discovery'>): Claims {
  if (discovery === 'server-origin') {
    const reason = 'no place has protected resource metadata, as in the oldest revision';
    return { revisions: [profileA.revision], by: 'evidence', reason };
  }
  return {
    revisions: profiles.filter((profile) => profile.discovery === discovery).map(({ revision }) => revision),
    by: 'evidence',
    reason: 'it publishes protected resource metadata; which of these it speaks it says only to who signs in',
  };
}

/**
 * Asks the server itself, by its list on the stateless wire, and by beginning a session of each older revision.
 * `null`: it claims none that is known here.
 */
export async function askClaims(url: string, fetch: Fetch, version: string): Promise<Claims | null> {
  const newest = await probeMcp({ url, fetch, version });
  await newest.close();
  const claimed = new Set([newest.revision, ...newest.listed]);
  for (const { revision } of profiles) {
    if (claimed.has(revision) || revision === profileD.revision) continue;
    if (await speaks(revision)) claimed.add(revision);
  }
  const revisions = profiles.map(({ revision }) => revision).filter((revision) => claimed.has(revision));
  return revisions.length === 0 ? null : { revisions, by: 'server', reason: 'the server says so itself' };

  async function speaks(revision: string): Promise<boolean> {
    try {
      const older = await probeMcp({ url, fetch, version, offer: revision });
      await older.close();
      return older.revision === revision;
    } catch {
      // A server may refuse what it does not speak, each in its own way.
      return false;
    }
  }
}

/** The revision of a date, as requirements name it. */
export function letterOf(revision: string): string {
  const profile = findProfile(revision);
  return profile === undefined ? '' : ('ABCD'[profiles.indexOf(profile)] ?? '');
}
