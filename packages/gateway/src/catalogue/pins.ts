/** Pins: which definitions of a server's tools are approved, in memory for a few seconds. */
import type { ToolAnnotations } from '@portcullis/policy';
import type {
  DefinitionList,
  DefinitionPinRecord,
  DefinitionPinStore,
  ListedDefinition,
} from '@portcullis/protocol';
import { MAX_PINNED_TOOLS, PINS_LIFETIME } from '../limits.ts';
import type { GatewayServer } from '../servers/server.ts';
import { commonHints, hintsOf, membersHashOf, readToolDefinition } from './tool-definition.ts';

/** Approved: its hash is the pinned one. `changed` and `new` wait for approval; `rejected` was refused by an operator. */
export type ToolState = 'approved' | 'changed' | 'new' | 'rejected';

export interface ToolChange {
  readonly tool: string;
  readonly state: 'changed' | 'new';
  readonly hash: string;
}

/** The pins of one server. */
export interface Pins {
  /** Incremented when they change. */
  readonly version: number;
  /** Nothing was pinned yet: what is listed first will be approved. */
  readonly isEmpty: boolean;
  stateOf(tool: string, hash: string): ToolState;
  /** Whether a definition was approved, rejected, or waits. */
  has(tool: string, hash: string): boolean;
  /** Tools with an approved definition, and the hints that all their approved definitions have. */
  readonly approved: ReadonlyMap<string, ToolAnnotations>;
  /** The definition that was approved last, as canonical JSON; `null`: none. */
  definitionOf(tool: string): string | null;
}

type PinnedServer = Pick<GatewayServer, 'path' | 'pinnedBackend'>;

export type PinBoard = ReturnType<typeof createPinBoard>;

interface Loaded {
  readonly pins: Pins;
  readonly at: number;
  loading: Promise<Pins> | null;
}

/** @param now milliseconds, monotonic @param clock epoch seconds */
export function createPinBoard(
  store: DefinitionPinStore,
  now: () => number = () => performance.now(),
  clock: () => number = () => Math.floor(Date.now() / 1000),
) {
  const known = new Map<string, Loaded>();
  let version = 0;

  async function load(list: DefinitionList): Promise<Pins> {
    const records = await store.findPins(list);
    version += 1;
    const pins = readPins(records, version);
    known.set(keyOf(list), { pins, at: now(), loading: null });
    return pins;
  }

  return {
    /** The pins of a server, at most a few seconds old. */
    current(server: PinnedServer): Pins | Promise<Pins> {
      const list = listOf(server);
      const found = known.get(keyOf(list));
      if (found === undefined) return load(list);
      if (now() - found.at < PINS_LIFETIME) return found.pins;
      // Concurrent calls share one reload; they fail if the store is down.
      found.loading ??= load(list).finally(() => {
        found.loading = null;
      });
      return found.loading;
    },
    /**
     * Compares what a backend lists. On first use all definitions are approved; later, new and changed ones wait for approval.
     * @returns the tools newly waiting for approval
     */
    async compare(server: PinnedServer, listed: readonly ListedDefinition[]): Promise<readonly ToolChange[]> {
      const list = listOf(server);
      const records = await readRecords(store, list, listed);
      const isFirst = records.length === 0;
      if (isFirst && listed.length > 0) {
        await store.saveFirstPins(list, listed.slice(0, MAX_PINNED_TOOLS), clock());
      }
      const pins = isFirst ? await load(list) : readPins(records, 0);
      const changes: ToolChange[] = [];
      for (const definition of listed) {
        const { name: tool, hash } = definition;
        const state = pins.stateOf(tool, hash);
        if (state === 'approved' || state === 'rejected') continue;
        if (state === 'new' && records.length + changes.length >= MAX_PINNED_TOOLS) continue;
        const isSaved = await store.savePendingPin(list, definition, clock());
        if (isSaved) changes.push({ tool, state, hash });
      }
      await load(list);
      return changes;
    },
  };
}

/** The approved tools of a server with their hints, without serving. */
export async function findApprovedHints(
  store: DefinitionPinStore,
  server: PinnedServer,
): Promise<ReadonlyMap<string, ToolAnnotations>> {
  return readPins(await store.findPins(listOf(server)), 0).approved;
}

function listOf({ path, pinnedBackend }: PinnedServer): DefinitionList {
  return { server: path, backend: pinnedBackend, kind: 'tool' };
}

function keyOf({ server, backend }: DefinitionList): string {
  return JSON.stringify([server, backend]);
}

/** The pins of a list. Those that cover members only, as up to version 0.1, count once for what is listed. */
async function readRecords(
  store: DefinitionPinStore,
  list: DefinitionList,
  listed: readonly ListedDefinition[],
): Promise<readonly DefinitionPinRecord[]> {
  const records = await store.findPins(list);
  const ofMembers = records.filter(({ covers }) => covers === 'members');
  const whole = listed.flatMap((definition) => {
    if (!ofMembers.some(({ name }) => name === definition.name)) return [];
    const parsed = readToolDefinition(JSON.parse(definition.definition));
    const membersHash = parsed && membersHashOf(parsed);
    return ofMembers.some(({ name, hash }) => name === definition.name && hash === membersHash)
      ? [{ ...definition, membersHash: membersHash ?? '' }]
      : [];
  });
  if (whole.length === 0) return records;
  await store.replaceMemberPins(list, whole);
  return store.findPins(list);
}

function readPins(records: readonly DefinitionPinRecord[], version: number): Pins {
  const byTool = Map.groupBy(
    records.filter(({ covers }) => covers === 'whole'),
    ({ name }) => name,
  );
  return {
    version,
    isEmpty: records.length === 0,
    approved: readApproved(byTool),
    definitionOf(tool) {
      const ofTool = (byTool.get(tool) ?? []).filter(({ status }) => status === 'approved');
      const newest = ofTool.toSorted(
        (one, other) => other.changedAt - one.changedAt || (one.hash < other.hash ? -1 : 1),
      );
      return newest[0]?.definition ?? null;
    },
    has: (tool, hash) => byTool.get(tool)?.some((pin) => pin.hash === hash) === true,
    stateOf(tool, hash) {
      const pins = byTool.get(tool) ?? [];
      const status = pins.find((pin) => pin.hash === hash)?.status;
      if (status === 'approved' || status === 'rejected') return status;
      return pins.some((pin) => pin.status === 'approved') ? 'changed' : 'new';
    },
  };
}

function readApproved(
  byTool: ReadonlyMap<string, readonly DefinitionPinRecord[]>,
): ReadonlyMap<string, ToolAnnotations> {
  const approved = new Map<string, ToolAnnotations>();
  for (const [tool, pins] of byTool) {
    const hints = pins
      .filter(({ status }) => status === 'approved')
      .map(({ definition }) => hintsOf(JSON.parse(definition ?? '{}')));
    if (hints.length > 0) approved.set(tool, commonHints(hints));
  }
  return approved;
}
