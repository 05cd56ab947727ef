/** Caches the tools of backends by credential, and compares what backends list with the pins. */
import type { ToolAnnotations } from '@portcullis/policy';
import type { ListedDefinition } from '@portcullis/protocol';
import {
  CATALOGUE_LIFETIME,
  CATALOGUE_READS_AT_ONCE,
  CATALOGUE_REFRESH_AT,
  MAX_CATALOGUE_ENTRIES,
} from '../limits.ts';
import type { OwnedRequest } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import type { Catalogue, CataloguedTool, ListTools, ReviewedList, ToolCatalogue } from './catalogue.ts';
import type { PinBoard, Pins, ToolChange } from './pins.ts';
import { canonicalJson, commonHints, hashOf, hintsOf, readToolDefinition } from './tool-definition.ts';

interface CatalogueOptions {
  readonly list: ListTools;
  /** Not used for servers with `review: auto`. */
  readonly pins: PinBoard;
  /** New and changed tools wait for approval. */
  readonly onChange: (server: GatewayServer, changes: readonly ToolChange[]) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Lists at once, of all backends. */
  readonly concurrency?: number;
}

/** A definition in a list. */
interface ListedTool extends ListedDefinition {
  readonly hints: ToolAnnotations;
}

/** The gateway's own list. */
interface Entry {
  readonly lists: readonly (readonly ListedTool[])[];
  readonly at: number;
  view: { readonly version: number; readonly catalogue: ToolCatalogue } | null;
}

export function createCatalogue(options: CatalogueOptions): Catalogue {
  const lists = createListCache(options);

  async function compareList(server: GatewayServer, listed: readonly ListedTool[]): Promise<ReviewedList> {
    // What changed for a client may have changed in the gateway's own list.
    if (await compare(options, server, listed)) lists.changed(server);
    return approvedOf(listed, await currentPins(options, server));
  }

  return {
    changed: lists.changed,
    tools(request, credentialKey) {
      const entry = lists.find(request, credentialKey);
      return mapLater(entry, (found) =>
        mapLater(currentPins(options, request.server), (pins) => viewOf(found, pins)),
      );
    },
    review(request, credentialKey, elements) {
      const { server } = request;
      const listed = readList(elements);
      return mapLater(currentPins(options, server), (pins) => {
        // At first use, the gateway's own list is pinned, whatever the client can do.
        if (pins.isEmpty && listed.length > 0)
          return lists.load(request, credentialKey).then(() => compareList(server, listed));
        const isKnown = listed.every(({ name, hash }) => pins.has(name, hash));
        return isKnown ? approvedOf(listed, pins) : compareList(server, listed);
      });
    },
  };
}

/** The gateway's own lists, by server and credential. */
function createListCache(options: CatalogueOptions) {
  const { now } = options;
  const entries = new Map<string, Entry>();
  const loading = new Map<string, Promise<Entry>>();
  const generations = new Map<string, number>();
  const turn = createSemaphore(options.concurrency ?? CATALOGUE_READS_AT_ONCE);

  /** Reads a list from the backend; one reading at a time for each key. */
  function load(request: OwnedRequest, credentialKey: string): Promise<Entry> {
    const { path } = request.server;
    const key = keyOf(path, credentialKey);
    const running = loading.get(key);
    if (running !== undefined) return running;
    const generation = generations.get(path);
    const result = turn(() => readEntry(options, request))
      .then((entry) => {
        if (generations.get(path) === generation) keep(key, entry);
        return entry;
      })
      .finally(() => {
        if (loading.get(key) === result) loading.delete(key);
      });
    loading.set(key, result);
    return result;
  }

  function keep(key: string, entry: Entry): void {
    entries.delete(key);
    const [first] = entries.keys();
    if (entries.size >= MAX_CATALOGUE_ENTRIES && first !== undefined) entries.delete(first);
    entries.set(key, entry);
  }

  return {
    load,
    /** Immediately when cached; renewed in the background before its lifetime ends. */
    find(request: OwnedRequest, credentialKey: string): Entry | Promise<Entry> {
      const entry = entries.get(keyOf(request.server.path, credentialKey));
      const age = entry === undefined ? Number.POSITIVE_INFINITY : now() - entry.at;
      if (entry === undefined || age >= CATALOGUE_LIFETIME) return load(request, credentialKey);
      if (age >= CATALOGUE_LIFETIME * CATALOGUE_REFRESH_AT) load(request, credentialKey).catch(() => {});
      return entry;
    },
    changed({ path }: Pick<GatewayServer, 'path'>): void {
      generations.set(path, (generations.get(path) ?? 0) + 1);
      for (const key of entries.keys()) if (key.startsWith(`${path} `)) entries.delete(key);
      for (const key of loading.keys()) if (key.startsWith(`${path} `)) loading.delete(key);
    },
  };
}

function keyOf(path: string, credentialKey: string): string {
  return `${path} ${credentialKey}`;
}

/** Reads every revision as long as nothing is pinned: what differs between them is approved together. */
async function readEntry(options: CatalogueOptions, request: OwnedRequest): Promise<Entry> {
  const { server } = request;
  const at = options.now();
  const pins = await currentPins(options, server);
  const lists = await options.list(request, pins.isEmpty ? 'every' : 'newest');
  const entry = { lists: lists.map(readList), at, view: null };
  const definitions = new Map(
    entry.lists.flat().map((tool) => [JSON.stringify([tool.name, tool.hash]), tool]),
  );
  await compare(options, server, [...definitions.values()]);
  return entry;
}

/** @returns whether definitions wait for approval that did not before */
async function compare(
  { pins, onChange }: CatalogueOptions,
  server: GatewayServer,
  listed: readonly ListedTool[],
): Promise<boolean> {
  if (server.review === 'auto') return false;
  const changes = await pins.compare(server, listed);
  if (changes.length > 0) onChange(server, changes);
  return changes.length > 0;
}

function currentPins({ pins }: CatalogueOptions, server: GatewayServer): Pins | Promise<Pins> {
  return server.review === 'auto' ? approvesAll : pins.current(server);
}

const approvesAll: Pins = {
  version: -1,
  isEmpty: false,
  approved: new Map(),
  stateOf: () => 'approved',
  has: () => true,
  definitionOf: () => null,
};

/** Synchronous for a value that is known. */
function mapLater<Value, Result>(
  value: Value | Promise<Value>,
  map: (value: Value) => Result | Promise<Result>,
): Result | Promise<Result> {
  return value instanceof Promise ? value.then(map) : map(value);
}

/** The definitions of one list. Tools that share a name are all dropped. */
function readList(elements: readonly unknown[]): readonly ListedTool[] {
  const listed = elements.flatMap((element) => {
    const tool = readToolDefinition(element);
    if (tool === null) return [];
    const definition = canonicalJson(tool);
    return [{ name: tool.name, definition, hash: hashOf(definition), hints: hintsOf(tool) }];
  });
  const counts = Map.groupBy(listed, ({ name }) => name);
  return listed.filter(({ name }) => counts.get(name)?.length === 1);
}

function approvedOf(listed: readonly ListedTool[], pins: Pins): ReviewedList {
  const approved = listed.filter(({ name, hash }) => pins.stateOf(name, hash) === 'approved');
  return new Set(approved.map(({ name }) => name));
}

function viewOf(entry: Entry, pins: Pins): ToolCatalogue {
  if (entry.view?.version === pins.version) return entry.view.catalogue;
  const catalogue = new Map<string, CataloguedTool>();
  for (const [name, hints] of pins.approved) catalogue.set(name, { state: 'approved', hints });
  const listed = Map.groupBy(entry.lists.flat(), ({ name }) => name);
  for (const [name, tools] of listed) catalogue.set(name, cataloguedTool(tools, pins));
  entry.view = { version: pins.version, catalogue };
  return catalogue;
}

/** A tool that the backend lists now: in no revision with a definition that is not approved. */
function cataloguedTool(tools: readonly ListedTool[], pins: Pins): CataloguedTool {
  const states = tools.map(({ name, hash }) => pins.stateOf(name, hash));
  const state = states.find((one) => one !== 'approved') ?? 'approved';
  return { state, hints: commonHints(tools.map(({ hints }) => hints)) };
}

/** Runs a limited number of jobs concurrently; the others are queued. */
function createSemaphore(slots: number): <T>(job: () => Promise<T>) => Promise<T> {
  let free = slots;
  const waiting: (() => void)[] = [];
  return async (job) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await job();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
