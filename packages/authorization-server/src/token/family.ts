/** The law of a family of refresh tokens: one is live, those just before it may come once more, any other was stolen. */
import type { RefreshTokenRecord } from '../store/index.ts';

/** What a presented token of a family is worth. */
export type RefreshTokenState =
  /** It may be rotated. */
  | 'live'
  /** It was rotated within the grace window: its successor is given once more. */
  | 'replayed'
  /** It was rotated before that. */
  | 'reused';

type Family = Pick<RefreshTokenRecord, 'generation' | 'rotations'>;

/** The tokens from a number on, up to the next span, were rotated in one second. */
type Span = readonly [from: number, at: number];

/** @param grace seconds after its rotation in which a token may come once more */
export function refreshTokenState(
  number: number,
  family: Family,
  now: number,
  grace: number,
): RefreshTokenState {
  if (number >= family.generation) return 'live';
  const rotatedAt = readSpans(family.rotations).findLast(([from]) => from <= number)?.[1];
  return rotatedAt !== undefined && now <= rotatedAt + grace ? 'replayed' : 'reused';
}

/** The rotations of a family whose live token is rotated now. Those that are beyond grace need not be told apart any more. */
export function recordRotation(
  { generation: number, rotations }: Family,
  now: number,
  grace: number,
): string {
  // Who rotates many times a second adds nothing.
  if (rotations.endsWith(`,${now}]]`)) return rotations;
  const forgivable = readSpans(rotations).filter(([, at]) => now <= at + grace);
  return JSON.stringify([...forgivable, [number, now]]);
}

function readSpans(rotations: string): readonly Span[] {
  return rotations === '' ? [] : (JSON.parse(rotations) as readonly Span[]);
}
