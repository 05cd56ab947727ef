/** What plots mark: starts and reloads of the server, rotations of keys, changes by operators. */
import type { AuditEventRecord } from '@portcullis/authorization-server/store';
import type { Administration } from '../../operations/administration.ts';
import { listEventsOfTypes } from '../../operations/events.ts';
import { links } from '../links.ts';
import { formatMinute } from '../ui/parts.ts';
import type { PlotMark } from './plot.ts';
import type { Point } from './views.ts';

/** Milliseconds that events of a type are searched for, and how many are marked at most. */
const PATIENCE = 50;
const MAX_OF_TYPE = 4;

const TYPES = ['server.started', 'configuration.reloaded', 'key.rotated', 'admin.changed'] as const;

/** The latest marks of each type, in their order. */
export async function findMarks(
  admin: Administration,
  points: readonly Pick<Point, 'from' | 'before'>[],
): Promise<readonly PlotMark[]> {
  const [begin, end] = [points[0]?.from ?? 0, points.at(-1)?.before ?? 1];
  const latest = await listEventsOfTypes(admin.store, TYPES, { since: begin }, MAX_OF_TYPE, PATIENCE);
  const marked = latest.toReversed();
  return marked.map((event, index) => ({
    label: `${labelOf(event, marked.slice(0, index))} at ${formatMinute(event.at).slice(5)}`,
    letter: String.fromCodePoint(0x41 + index),
    position: Math.min(1, (event.at - begin) / (end - begin)),
    href: links.event(event.id),
  }));
}

/** A start with another version than the one before is a deployment. */
function labelOf({ type, details }: AuditEventRecord, earlier: readonly AuditEventRecord[]): string {
  if (type === 'key.rotated') return 'key rotation';
  if (type === 'configuration.reloaded') return 'configuration reloaded';
  if (type === 'admin.changed') return String(details['operation']);
  const { version } = details;
  const before = earlier.findLast((one) => one.type === 'server.started')?.details['version'];
  return before === undefined || before === version ? `start of ${version}` : `deployment of ${version}`;
}
