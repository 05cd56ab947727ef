/** The catalogue of a server: the tools that its backend offers to a credential, cached, and which of their definitions are approved by their pins. */
import type { ToolAnnotations } from '@portcullis/policy';
import { createLruCache, type ListedDefinition } from '@portcullis/protocol';
import { createGauge } from '../gauge.ts';
import {
  CATALOGUE_LIFETIME,
  CATALOGUE_READS_AT_ONCE,
  CATALOGUE_READS_OF_USER,
  CATALOGUE_REFRESH_AT,
  MAX_CATALOGUE_ENTRIES,
} from '../limits.ts';
import { mapLater } from '../map-later.ts';
import { anonymousOwnerOf, type OwnedRequest, ownerKey, userKey } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import type { ListTools } from './list-tools.ts';
import type { PinBoard, Pins, ToolChange, ToolState } from './pins.ts';
import { canonicalJson, commonHints, hashOf, hintsOf, readToolDefinition } from './tool-definition.ts';

/** A tool of a catalogue, without its definition. */
interface CataloguedTool {
  readonly state: ToolState;
  readonly hints: ToolAnnotations;
}

/** The tools of one list whose definitions are approved, by name. */
export type ReviewedList = ReadonlySet<string>;

/** Immutable. Keys are exact names. */
export type ToolCatalogue = ReadonlyMap<string, CataloguedTool>;

export type Catalogue = ReturnType<typeof createCatalogue>;

interface CatalogueOptions {
  readonly list: ListTools;
  /** Not used for servers with `review: auto`. */
  readonly pins: PinBoard;
  /** New and changed tools wait for approval. */
  readonly onChange: (changes: readonly ToolChange[]) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** A definition in a list. */
interface ListedTool extends ListedDefinition {
  readonly hints: ToolAnnotations;
}

/** What is cached of it: the lists of thousands of owners may be. */
type CachedTool = Omit<ListedTool, 'definition'>;

/** The gateway's own list. */
interface Entry {
  /** The lists that it is one of. */
  readonly of: Lists;
  readonly lists: readonly (readonly CachedTool[])[];
  readonly at: number;
  view: { readonly version: number; readonly catalogue: ToolCatalogue } | null;
  /** In the background. */
  isRenewed: boolean;
}

/** Keys of credentials say what a catalogue may be shared by. */
export function createCatalogue(options: CatalogueOptions) {
  const lists = createListCache(options);

  async function compareList(server: GatewayServer, listed: readonly ListedTool[]): Promise<ReviewedList> {
    // What changed for a client may have changed in the gateway's own list.
    if (await compare(options, server, listed)) lists.changed();
    return approvedOf(listed, await currentPins(options, server));
  }

  return {
    /** The backend announced `notifications/tools/list_changed`, was restarted, or listed something else. */
    changed: lists.changed,
    /**
     * The tools that may be called: those that the gateway's own list has, and those of which a definition was approved; what a
     * backend lists depends on the capabilities and the revision of the client. Immediately when cached. One request to the backend at
     * a time for each credential of an owner.
     * @throws BackendError when the backend does not respond
     */
    tools(request: OwnedRequest, credentialKey: string): ToolCatalogue | Promise<ToolCatalogue> {
      const entry = lists.find(request, credentialKey);
      return mapLater(entry, (found) =>
        mapLater(currentPins(options, request.server), (pins) => viewOf(found, pins)),
      );
    },
    /**
     * The tools of a list on its way to a client, as far as their definitions are approved. Others wait for approval from then on.
     * @param elements what is no definition, or shares its name with another, is not in the result
     * @throws BackendError when nothing is pinned and the backend does not respond
     */
    review(
      request: OwnedRequest,
      credentialKey: string,
      elements: readonly unknown[],
    ): ReviewedList | Promise<ReviewedList> {
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

/** Of all backends: one has few credentials, another those of many users. */
const known = createLruCache<Entry>({ entries: MAX_CATALOGUE_ENTRIES });

/**
 * What a list is cached by. It is read in the session of its owner's client: processes of different owners may list different
 * definitions, as after a call that selects a project.
 */
function keyOf({ server, owner }: OwnedRequest, credentialKey: string): string {
  const isOfProcess = server.backend?.kind === 'stdio' && server.backend.process !== 'shared';
  const process = isOfProcess ? ownerKey(owner.isAnonymous ? anonymousOwnerOf(owner) : owner) : '';
  return `${server.resource} ${credentialKey} ${process}`;
}

/** The gateway's own lists, by credential. */
function createListCache(options: CatalogueOptions) {
  const { now } = options;
  const turn = createSemaphore(CATALOGUE_READS_AT_ONCE, CATALOGUE_READS_OF_USER);
  let current = createLists();

  const cached = (key: string): Entry | undefined => {
    const entry = known.get(key);
    return entry?.of === current ? entry : undefined;
  };

  /**
   * Reads a list from the backend; one reading at a time for each credential of an owner: no user waits for the
   * session of another, which may hang. A list that changes meanwhile is not cached.
   */
  function load(request: OwnedRequest, key: string): Promise<Entry> {
    const { loading } = current;
    const ofOwner = `${key} ${ownerKey(request.owner)}`;
    const running = loading.get(ofOwner);
    if (running !== undefined) return running;
    const result = turn(userKey(request.owner), read(request, key)).finally(() => loading.delete(ofOwner));
    loading.set(ofOwner, result);
    return result;
  }

  function read(request: OwnedRequest, key: string): () => Promise<Entry> {
    const lists = current;
    const requestedAt = now();
    return async () => {
      // While this one was queued, another owner may have read the list.
      const found = cached(key);
      if (found !== undefined && found.at > requestedAt) return found;
      const entry = await readEntry(options, request, lists);
      if (lists === current) known.set(key, entry);
      return entry;
    };
  }

  /** One owner renews a list for all. */
  function renew(request: OwnedRequest, key: string, entry: Entry): void {
    if (entry.isRenewed) return;
    entry.isRenewed = true;
    load(request, key).catch(() => {
      entry.isRenewed = false;
    });
  }

  return {
    load: (request: OwnedRequest, credentialKey: string) => load(request, keyOf(request, credentialKey)),
    /** Immediately when cached; renewed in the background before its lifetime ends. */
    find(request: OwnedRequest, credentialKey: string): Entry | Promise<Entry> {
      const key = keyOf(request, credentialKey);
      const entry = cached(key);
      const age = entry === undefined ? 0 : now() - entry.at;
      if (entry === undefined || age >= CATALOGUE_LIFETIME) return load(request, key);
      if (age >= CATALOGUE_LIFETIME * CATALOGUE_REFRESH_AT) renew(request, key, entry);
      return entry;
    },
    changed(): void {
      current = createLists();
    },
  };
}

/** Those of one backend since they last changed. */
type Lists = ReturnType<typeof createLists>;

function createLists() {
  return { loading: new Map<string, Promise<Entry>>() };
}

/** Reads every revision as long as nothing is pinned: what differs between them is approved together. */
async function readEntry(options: CatalogueOptions, request: OwnedRequest, of: Lists): Promise<Entry> {
  const { server } = request;
  const at = options.now();
  const pins = await currentPins(options, server);
  const listed = await options.list(request, pins.isEmpty ? 'every' : 'newest');
  const lists = listed.map(readList);
  const definitions = new Map(lists.flat().map((tool) => [JSON.stringify([tool.name, tool.hash]), tool]));
  await compare(options, server, [...definitions.values()]);
  return { of, lists: lists.map((list) => list.map(toCached)), at, view: null, isRenewed: false };
}

function toCached({ name, hash, hints }: ListedTool): CachedTool {
  return { name, hash, hints };
}

/** @returns whether definitions wait for approval that did not before */
async function compare(
  { pins, onChange }: CatalogueOptions,
  server: GatewayServer,
  listed: readonly ListedTool[],
): Promise<boolean> {
  if (server.review === 'auto') return false;
  const changes = await pins.compare(server, listed);
  if (changes.length > 0) onChange(changes);
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
function cataloguedTool(tools: readonly CachedTool[], pins: Pins): CataloguedTool {
  const states = tools.map(({ name, hash }) => pins.stateOf(name, hash));
  const state = states.find((one) => one !== 'approved') ?? 'approved';
  return { state, hints: commonHints(tools.map(({ hints }) => hints)) };
}

/** Runs a limited number of jobs concurrently, and of each key; the others are queued. */
function createSemaphore(slots: number, ofKey: number) {
  const taken = createGauge(() => ofKey);
  const waiting: { readonly key: string; readonly start: (release: () => void) => void }[] = [];

  const take = (key: string): (() => void) | null => (taken.total < slots ? taken.take(key) : null);

  function startNext(): void {
    for (const [index, { key, start }] of waiting.entries()) {
      const release = take(key);
      if (release === null) continue;
      waiting.splice(index, 1);
      start(release);
      return;
    }
  }

  return async <T>(key: string, job: () => Promise<T>): Promise<T> => {
    const release = take(key) ?? (await new Promise<() => void>((start) => waiting.push({ key, start })));
    try {
      return await job();
    } finally {
      release();
      startNext();
    }
  };
}
