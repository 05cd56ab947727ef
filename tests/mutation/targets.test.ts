/** Every mutation target names sources and tests that exist. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { mutationTargets } from './targets.ts';

describe('mutation targets', () => {
  it.each(Object.entries(mutationTargets))('mutation target %s names existing files', (_name, target) => {
    const missing = [...target.mutate, ...target.tests].filter((path) => !existsSync(`packages/${path}`));
    expect(missing).toEqual([]);
  });
});
