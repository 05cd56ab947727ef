/** A sequence diagram as lines of text. */
import { formatDuration } from './layout.ts';
import { LANE_NAMES, type SequenceDiagram } from './model.ts';

/** One line for each message, with the time since the first: for a report, a chat, a ticket. */
export function sequenceText({ messages }: SequenceDiagram): string {
  const first = messages[0]?.at ?? 0;
  const times = messages.map(({ at }) => `+${formatDuration(at - first)}`);
  const ways = messages.map(({ from, to }) => `${LANE_NAMES[from]} → ${LANE_NAMES[to]}`);
  const [timeWidth, wayWidth] = [times, ways].map((column) =>
    Math.max(0, ...column.map((text) => text.length)),
  );
  const lines = messages.map(({ term, source, about, because, isRefused, duration }, index) => {
    const words = [
      isRefused ? '✗' : ' ',
      cleaned(term),
      about !== '' && cleaned(about),
      source !== '' && `(${source})`,
      duration !== null && `took ${formatDuration(duration)}`,
      because !== '' && `— ${cleaned(because)}`,
    ].filter((word) => word !== false);
    return `${(times[index] ?? '').padStart(timeWidth ?? 0)}  ${(ways[index] ?? '').padEnd(wayWidth ?? 0)} ${words.join(' ')}`.trimEnd();
  });
  return `${lines.join('\n')}\n`;
}

/** Without characters that would break a line, or change the direction of others. */
function cleaned(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '�');
}
