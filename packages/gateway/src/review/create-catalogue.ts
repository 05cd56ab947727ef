/** Caches the tools of backends by credential, and compares them with the pins. */
import {
  CATALOGUE_LIFETIME,
  CATALOGUE_READS_AT_ONCE,
  CATALOGUE_REFRESH_AT,
  MAX_CATALOGUE_ENTRIES,
} from '../limits/bounds.ts';
import type { OwnedRequest } from '../servers/request.ts';
import type { GatewayServer } from '../servers/server.ts';
import type { Catalogue, CataloguedTool, ListTools, ToolCatalogue } from './catalogue.ts';
import type { PinBoard, Pins, ToolChange } from './pins.ts';
import {
  canonicalJson,
  hashOf,
  hintsOf,
  readToolDefinition,
  type ToolDefinition,
} from './tool-definition.ts';

export interface CatalogueOptions {
  readonly list: ListTools;
  /** `null`: nothing is pinned, as for servers with `review: auto`. */
  readonly pins: PinBoard | null;
  /** New and changed tools wait for approval. */
  readonly onChange: (server: GatewayServer, changes: readonly ToolChange[]) => void;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Milliseconds that a list is used. */
  readonly lifetime?: number;
  /** Lists at once, of all backends. */
  readonly concurrency?: number;
}

interface Entry {
  readonly tools: ReadonlyMap<string, Omit<CataloguedTool, 'state'>>;
  readonly at: number;
  view: { readonly version: number; readonly catalogue: ToolCatalogue } | null;
}

export function createCatalogue(options: CatalogueOptions): Catalogue {
  const { pins, now, lifetime = CATALOGUE_LIFETIME } = options;
  const entries = new Map<string, Entry>();
  const loading = new Map<string, Promise<Entry>>();
  const generations = new Map<string, number>();
  const turn = createSemaphore(options.concurrency ?? CATALOGUE_READS_AT_ONCE);

  function load(request: OwnedRequest, key: string): Promise<Entry> {
    const running = loading.get(key);
    if (running !== undefined) return running;
    const { server } = request;
    const generation = generations.get(server.path);
    const started = now();
    const result = turn(() => options.list(request))
      .then((definitions) => remember(server, definitions, started))
      .then((entry) => {
        if (generations.get(server.path) === generation) keep(key, entry);
        return entry;
      })
      .finally(() => loading.delete(key));
    loading.set(key, result);
    return result;
  }

  async function remember(
    server: GatewayServer,
    definitions: readonly ToolDefinition[],
    at: number,
  ): Promise<Entry> {
    const listed = definitions.flatMap((definition) => {
      if (readToolDefinition(definition) === null) return [];
      const text = canonicalJson(definition);
      return [{ name: definition.name, definition: text, hash: hashOf(text), hints: hintsOf(definition) }];
    });
    // If two tools share a name, neither is approved.
    const unique = listed.filter(({ name }, index) => isOnly(listed, name, index));
    if (pins !== null && server.review !== 'auto') {
      const changes = await pins.compare(server, unique);
      if (changes.length > 0) options.onChange(server, changes);
    }
    return { tools: new Map(unique.map(({ name, hash, hints }) => [name, { hash, hints }])), at, view: null };
  }

  function keep(key: string, entry: Entry): void {
    entries.delete(key);
    const [first] = entries.keys();
    if (entries.size >= MAX_CATALOGUE_ENTRIES && first !== undefined) entries.delete(first);
    entries.set(key, entry);
  }

  function withPins(server: GatewayServer, entry: Entry): ToolCatalogue | Promise<ToolCatalogue> {
    if (pins === null || server.review === 'auto') return viewOf(entry, approvesAll);
    const current = pins.current(server);
    return current instanceof Promise
      ? current.then((later) => viewOf(entry, later))
      : viewOf(entry, current);
  }

  return {
    tools(request, credentialKey) {
      const { server } = request;
      const key = `${server.path} ${credentialKey}`;
      const entry = entries.get(key);
      const age = entry === undefined ? Number.POSITIVE_INFINITY : now() - entry.at;
      if (entry === undefined || age >= lifetime)
        return load(request, key).then((loaded) => withPins(server, loaded));
      if (age >= lifetime * CATALOGUE_REFRESH_AT) load(request, key).catch(() => {});
      return withPins(server, entry);
    },
    changed({ path }) {
      generations.set(path, (generations.get(path) ?? 0) + 1);
      for (const key of entries.keys()) if (key.startsWith(`${path} `)) entries.delete(key);
      for (const key of loading.keys()) if (key.startsWith(`${path} `)) loading.delete(key);
    },
  };
}

const approvesAll: Pins = { version: -1, stateOf: () => 'approved' };

function viewOf(entry: Entry, pins: Pins): ToolCatalogue {
  if (entry.view?.version === pins.version) return entry.view.catalogue;
  const tools = [...entry.tools].map(
    ([name, tool]) => [name, { ...tool, state: pins.stateOf(name, tool.hash) }] as const,
  );
  const catalogue = new Map(tools);
  entry.view = { version: pins.version, catalogue };
  return catalogue;
}

function isOnly(listed: readonly { readonly name: string }[], name: string, index: number): boolean {
  return listed.every((other, at) => at === index || other.name !== name);
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
