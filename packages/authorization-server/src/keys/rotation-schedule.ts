/** The rotation schedule of signing keys: when each is published, signs, and is retired. */

export interface RotationSchedule<Key> {
  readonly signing: Key;
  /** First the signing key, then future ones, then past ones. Never empty. */
  readonly published: readonly Key[];
  /** Keys that can be removed: every token that they signed has expired. */
  readonly retired: readonly Key[];
  /** Epoch seconds of the next change. */
  readonly changesAt: number;
}

/**
 * The schedule at a moment. A key signs until the next one does, and stays published while tokens that it signed may be valid.
 * @param keys at least one, with times in epoch seconds
 * @param publishedAfter seconds for which a key is published after the next one started to sign
 */
export function rotationSchedule<Key extends { readonly signsFrom: number }>(
  keys: readonly Key[],
  now: number,
  publishedAfter: number,
): RotationSchedule<Key> {
  const inOrder = keys.toSorted((a, b) => a.signsFrom - b.signsFrom);
  const started = inOrder.filter(({ signsFrom }) => signsFrom <= now);
  // With a clock that is slow, no key may have started yet.
  const signing = started.at(-1) ?? inOrder[0];
  if (signing === undefined) throw new RangeError('There is no signing key.');
  const future = inOrder.slice(Math.max(started.length, 1));
  const endOf = (index: number) =>
    (started[index + 1]?.signsFrom ?? Number.POSITIVE_INFINITY) + publishedAfter;
  const past = started.slice(0, -1);
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
