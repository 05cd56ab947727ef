/** Where the messages of a sequence diagram are drawn: durations to scale, and long waits cut out. */
import type { SequenceDiagram, SequenceMessage } from './model.ts';

/** Pixels between messages, at least. */
const ROW = 44;
/** Pixels of all durations together. */
const SCALE = 360;
/** Milliseconds between two messages after which the wait is cut out. */
const LONGEST_WAIT = 1_000;
/** Pixels of a wait that is cut out. */
const CUT = 36;

/** A message with its position. */
export interface PositionedMessage {
  readonly message: SequenceMessage;
  readonly y: number;
  /** Pixels of its duration. */
  readonly height: number;
}

/** A wait that is not to scale. */
interface CutWait {
  readonly y: number;
  /** Milliseconds. */
  readonly duration: number;
}

export interface SequenceLayout {
  readonly positioned: readonly PositionedMessage[];
  readonly cuts: readonly CutWait[];
  readonly height: number;
}

/** Positions messages below each other, from 0 on. */
export function positionMessages({ messages }: SequenceDiagram): SequenceLayout {
  const waits = messages.map(({ at }, index) => at - (messages[index - 1]?.at ?? at));
  const durations = messages.map(({ duration }) => duration ?? 0);
  const drawn = waits.filter((wait) => wait <= LONGEST_WAIT).reduce((sum, wait) => sum + wait, 0);
  const scale = SCALE / Math.max(1, drawn, ...durations.map((duration) => Math.min(duration, LONGEST_WAIT)));
  const positioned: PositionedMessage[] = [];
  const cuts: CutWait[] = [];
  let y = 0;
  for (const [index, message] of messages.entries()) {
    const wait = waits[index] ?? 0;
    if (wait > LONGEST_WAIT) {
      const ends = positioned.map((one) => one.y + one.height + ROW / 2);
      const cut = Math.max(y + ROW, ...ends);
      cuts.push({ y: cut, duration: wait });
      y = cut + CUT;
    } else if (index > 0) y += Math.max(ROW, wait * scale);
    const height = Math.min(durations[index] ?? 0, LONGEST_WAIT) * scale;
    positioned.push({ message, y, height: message.duration === null ? 0 : Math.max(3, height) });
  }
  const end = Math.max(0, ...positioned.map((one) => one.y + one.height));
  return { positioned, cuts, height: end + ROW / 2 };
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** `12 ms`, `1.4 s`, `3 h` @param duration milliseconds */
export function formatDuration(duration: number): string {
  const unit = UNITS.find(([size]) => duration >= size);
  if (unit === undefined) return `${Number(duration.toPrecision(3))} ms`;
  const count = duration / unit[0];
  return `${count < 10 ? Number(count.toFixed(1)) : Math.round(count)} ${unit[1]}`;
}
