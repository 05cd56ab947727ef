/** What a process remembers for a while: so much and no more, and the oldest goes first. */
import { remember } from '../remember.ts';

export interface Memory<T> {
  get(name: string): T | undefined;
  set(name: string, value: T): void;
}

const MOST = 10_000;

export function createMemory<T>(most: number = MOST): Memory<T> {
  const values = new Map<string, T>();
  return {
    get: (name) => values.get(name),
    set(name, value) {
      values.delete(name);
      remember(values, name, value, most);
    },
  };
}
