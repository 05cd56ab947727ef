/** Untrusted input is parsed or refused with an OAuth error, in time, and what is parsed means the same to other parsers. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../resilience/random.ts';
import { anyCharacters, webUrl } from '../support/any-text.ts';
import { costOf } from '../support/cost.ts';
import { createEndpointTargets } from './endpoints.ts';
import { mutate } from './mutate.ts';
import { Broken, type Target, targets, tryOut } from './targets.ts';

/** Inputs that the fuzzer found to take ways of their own. */
const corpus: Readonly<Record<string, readonly string[]>> = JSON.parse(
  readFileSync(new URL('corpus.json', import.meta.url), 'utf8'),
);
const all = [...targets, ...(await createEndpointTargets())];

/** Text of any kind, and examples that were changed. */
function inputsFor({ name, seeds }: Target): fc.Arbitrary<string> {
  const known = [...seeds, ...(corpus[name] ?? [])];
  const changed = fc.integer({ min: 0, max: 2 ** 31 }).map((seed) => mutate(known, createRandom(seed)));
  return fc.oneof(
    { arbitrary: changed, weight: 5 },
    anyCharacters(200),
    fc.string({ maxLength: 200 }),
    fc.json({ maxDepth: 4 }),
    webUrl({ withQuery: true, withFragment: true }),
    fc.array(fc.tuple(fc.string(), fc.string())).map((pairs) => new URLSearchParams(pairs).toString()),
  );
}

describe.each(all)('$name', (target) => {
  it('parses or refuses every input, and its invariants hold', async () => {
    await fc.assert(
      fc.asyncProperty(inputsFor(target), (input) => tryOut(target, input)),
      { numRuns: 300 },
    );
  });

  it('takes or refuses what the fuzzer found', async () => {
    for (const input of [...target.seeds, ...(corpus[target.name] ?? [])]) await tryOut(target, input);
  });

  it.each([
    'a',
    '%',
    '%41',
    '"',
    '\\',
    '\\"',
    ',',
    ' ',
    '&a=',
    '=',
    '[',
    '{"a":',
    ':',
    '/',
    '../',
    ';',
    '\n',
  ])('reads 60,000 characters of %j in time', async (piece) => {
    const input = piece.repeat(60_000 / piece.length);
    const measure = () => costOf(() => tryOut(target, input));
    // What grows with the square of its length takes seconds; what is compiled meanwhile counts once.
    let least = await measure();
    for (let time = 0; time < 3 && least > 100; time += 1) least = Math.min(least, await measure());
    expect(least).toBeLessThan(100);
  });
});

it('reports an invariant that does not hold', async () => {
  const broken = { name: 'x', seeds: [], read: () => { throw new Broken('an invariant'); } }; // biome-ignore format: short
  await expect(tryOut(broken, '')).rejects.toThrow('an invariant');
  const thrown = { name: 'x', seeds: [], read: () => Promise.reject(new TypeError('not ours')) };
  await expect(tryOut(thrown, '')).rejects.toThrow(TypeError);
});
