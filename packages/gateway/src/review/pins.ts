/** Pins: which definitions of a server's tools are approved, in memory for a few seconds. */

import type { ToolPinRecord, ToolPinStore } from '@portcullis/protocol';
import { MAX_PINNED_TOOLS, PINS_LIFETIME } from '../limits/bounds.ts';
import type { ToolState } from './catalogue.ts';

/** A tool as it was listed. */
interface ListedTool {
  readonly tool: string;
  readonly hash: string;
  /** Canonical JSON. */
  readonly definition: string;
}

export interface ToolChange {
  readonly tool: string;
  readonly state: 'changed' | 'new';
  readonly hash: string;
}

/** The pins of one server. */
export interface Pins {
  /** Incremented when they change. */
  readonly version: number;
  stateOf(tool: string, hash: string): ToolState;
}

export interface PinBoard {
  /** The pins of a server, at most a few seconds old. */
  current(identity: string): Pins | Promise<Pins>;
  /**
   * Compares a backend's list. On first use all tools are approved; later, new and changed tools wait for approval.
   * @returns the tools newly waiting for approval
   */
  compare(identity: string, listed: readonly ListedTool[]): Promise<readonly ToolChange[]>;
}

interface Loaded {
  readonly pins: Pins;
  readonly at: number;
  loading: Promise<Pins> | null;
}

/** @param now milliseconds, monotonic @param clock epoch seconds */
export function createPinBoard(store: ToolPinStore, now: () => number, clock: () => number): PinBoard {
  const known = new Map<string, Loaded>();
  let version = 0;

  async function load(identity: string): Promise<Pins> {
    const records = await store.findToolPins(identity);
    version += 1;
    const pins = readPins(records, version);
    known.set(identity, { pins, at: now(), loading: null });
    return pins;
  }

  return {
    current(identity) {
      const found = known.get(identity);
      if (found === undefined) return load(identity);
      if (now() - found.at < PINS_LIFETIME) return found.pins;
      // Concurrent calls share one reload; they fail if the store is down.
      found.loading ??= load(identity).finally(() => {
        found.loading = null;
      });
      return found.loading;
    },
    async compare(identity, listed) {
      const records = await store.findToolPins(identity);
      const isFirst = records.length === 0;
      if (isFirst && listed.length > 0) {
        await store.saveFirstToolPins(identity, listed.slice(0, MAX_PINNED_TOOLS), clock());
      }
      const pins = isFirst ? await load(identity) : readPins(records, 0);
      const changes: ToolChange[] = [];
      for (const { tool, hash, definition } of listed) {
        const state = pins.stateOf(tool, hash);
        if (state === 'approved' || state === 'rejected') continue;
        if (state === 'new' && records.length + changes.length >= MAX_PINNED_TOOLS) continue;
        const isSaved = await store.savePendingTool({ server: identity, tool, hash, definition }, clock());
        if (isSaved) changes.push({ tool, state, hash });
      }
      await load(identity);
      return changes;
    },
  };
}

function readPins(records: readonly ToolPinRecord[], version: number): Pins {
  const byTool = new Map(records.map((record) => [record.tool, record]));
  return {
    version,
    stateOf(tool, hash) {
      const record = byTool.get(tool);
      if (record === undefined) return 'new';
      if (record.approvedHash === hash) return 'approved';
      if (record.rejectedHash === hash) return 'rejected';
      return record.approvedHash === null ? 'new' : 'changed';
    },
  };
}
