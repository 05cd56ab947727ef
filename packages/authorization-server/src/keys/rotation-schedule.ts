/** When keys are published, sign and retire: a law over the instants at which each begins to sign. */

/** A key, as far as its time is concerned. Epoch seconds. */
interface Scheduled {
  readonly signsFrom: number;
}

export interface RotationSchedule<Key> {
  readonly signing: Key;
  /** The key that signs first, then those that will, then those that did. Never empty. */
  readonly published: readonly Key[];
  /** What nobody needs any more: every token that they signed has expired. */
  readonly retired: readonly Key[];
  /** Epoch seconds of the next change. */
  readonly changesAt: number;
}

/**
 * Judges keys at an instant. A key signs from its time on until the next one does, and stays published for as long as a token
 * that it signed last may live.
 * @param keys at least one
 * @param kept seconds for which a key is published after the next one has begun to sign
 */
export function rotationSchedule<Key extends Scheduled>(
  keys: readonly Key[],
  now: number,
  kept: number,
): RotationSchedule<Key> {
  const inOrder = keys.toSorted((a, b) => a.signsFrom - b.signsFrom);
  const begun = inOrder.filter(({ signsFrom }) => signsFrom <= now);
  // A clock that lags behind finds no key that has begun.
  const signing = begun.at(-1) ?? inOrder[0];
  if (signing === undefined) throw new RangeError('There is no signing key.');
  const future = inOrder.slice(Math.max(begun.length, 1));
  const endOf = (index: number) => (begun[index + 1]?.signsFrom ?? Number.POSITIVE_INFINITY) + kept;
  const past = begun.slice(0, -1);
  const retiring = past.filter((_, index) => endOf(index) > now);
  const changes = [
    ...future.map(({ signsFrom }) => signsFrom),
    ...past.map((_, index) => endOf(index)).filter((end) => end > now),
  ];
  return {
    signing,
    published: [signing, ...future, ...retiring.toReversed()],
    retired: past.filter((_, index) => endOf(index) <= now),
    changesAt: Math.min(Number.POSITIVE_INFINITY, ...changes),
  };
}
