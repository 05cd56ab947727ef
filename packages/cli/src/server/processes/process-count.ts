/** Determines the number of server processes. */
import { availableParallelism } from 'node:os';
import type { Settings } from '../../settings/schema.ts';

export function processCount({ processes }: Pick<Settings, 'processes'>): number {
  return processes === 'auto' ? availableParallelism() : processes;
}
