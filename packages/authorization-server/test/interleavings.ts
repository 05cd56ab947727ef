/** Runs actors in every order of their operations: each order once, from the beginning, with the real code and the real store. */

import type { FullStore } from '@portcullis/store';
import { onTestFinished } from 'vitest';
import { openEmptyStore } from '../../../tests/support/migrated-store.ts';
import { startPostgres } from '../../../tests/support/postgres.ts';
import { openTestStore } from '../../../tests/support/test-store.ts';

interface StoreKind {
  readonly name: string;
  open(): Promise<FullStore>;
}

/** Opens empty stores, which are closed when their test has finished. */
export const sqlite: StoreKind = { name: 'SQLite', open: () => closeLater(openEmptyStore()) };

export const postgres: StoreKind = {
  name: 'PostgreSQL',
  async open() {
    const server = await startPostgres();
    onTestFinished(() => server.stop());
    return closeLater(openTestStore(await server.createDatabase()));
  },
};

async function closeLater(opened: Promise<FullStore>): Promise<FullStore> {
  const store = await opened;
  onTestFinished(() => store.close());
  return store;
}

/** Waits for its turn, then performs the operation; atomic, as far as other actors see. */
export type Step = <T>(operation: () => Promise<T>) => Promise<T>;

/** One step at a time. */
export type Actor<Scene> = (scene: Scene, step: Step) => Promise<unknown>;

/** A store whose operations are steps. */
export function stepwise<Store extends object>(store: Store, step: Step): Store {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      return typeof method === 'function'
        ? (...given: readonly unknown[]) => step(async () => method.apply(target, given))
        : method;
    },
  });
}

/**
 * @param open a scene of its own for each order
 * @param check throws what is wrong after the last step
 * @returns how many orders there are
 */
export async function exploreInterleavings<Scene>(
  open: () => Promise<Scene>,
  actors: Readonly<Record<string, Actor<Scene>>>,
  check: (scene: Scene) => void | Promise<void>,
): Promise<number> {
  let orders = 0;
  for (let next: readonly string[] | null = []; next !== null; orders += 1) {
    const scene = await open();
    const turns = await run(scene, actors, next);
    const order = turns.map(({ taken }) => taken);
    await (async () => check(scene))().catch((error: unknown) => {
      throw new Error(`in the order ${order.join(', ')}: ${String(error)}`, { cause: error });
    });
    next = orderAfter(turns);
  }
  return orders;
}

interface Turn {
  readonly taken: string;
  /** Who could have had it. */
  readonly waiting: readonly string[];
}

async function run<Scene>(
  scene: Scene,
  actors: Readonly<Record<string, Actor<Scene>>>,
  order: readonly string[],
): Promise<readonly Turn[]> {
  const waiting = new Map<string, () => void>();
  let moving = Object.keys(actors).length;
  let quiet = Promise.withResolvers<void>();
  const rest = () => {
    moving -= 1;
    if (moving === 0) quiet.resolve();
  };
  const ends = Object.entries(actors).map(([name, actor]) => {
    const step: Step = (operation) =>
      new Promise((resolve, reject) => {
        if (waiting.has(name)) throw new Error(`${name} takes two steps at once`);
        waiting.set(name, () => void operation().then(resolve, reject));
        rest();
      });
    return actor(scene, step).finally(rest);
  });
  const ended = Promise.all(ends);
  ended.catch(() => {});
  const turns: Turn[] = [];
  await quiet.promise;
  while (waiting.size > 0) {
    const names = [...waiting.keys()].sort();
    const taken = order[turns.length] ?? names[0] ?? '';
    turns.push({ taken, waiting: names });
    const take = waiting.get(taken);
    waiting.delete(taken);
    moving = 1;
    quiet = Promise.withResolvers();
    take?.();
    await quiet.promise;
  }
  await ended;
  return turns;
}

/** The next order in the sense of a dictionary; `null`: that was the last. */
function orderAfter(turns: readonly Turn[]): readonly string[] | null {
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const { taken, waiting } = turns[index] as Turn;
    const other = waiting[waiting.indexOf(taken) + 1];
    if (other !== undefined) return [...turns.slice(0, index).map((turn) => turn.taken), other];
  }
  return null;
}
