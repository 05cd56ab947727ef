/** Local servers: their credentials come from the environment; and the core of the client imports nothing from Node. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { credentialsFromEnvironment } from '../src/node.ts';

it('[ALL-TRN-2] gives a local stdio server only the named environment variables', () => {
  const environment = { API_KEY: 'k', HOME: '/home/ada', EMPTY: '' };
  expect(credentialsFromEnvironment(['API_KEY'], environment)).toEqual({ API_KEY: 'k' });
  expect(credentialsFromEnvironment([], environment)).toEqual({});
  expect(() => credentialsFromEnvironment(['API_KEY', 'OTHER', 'EMPTY'], environment)).toThrow(
    'Set OTHER and EMPTY',
  );
});

it('[ALL-TRN-2] reads credentials from the environment without OAuth: the module imports nothing', () => {
  expect(readFileSync(new URL('../src/node/environment.ts', import.meta.url), 'utf8')).not.toMatch(
    /^import/m,
  );
});

it('imports nothing from Node in the core of the client, so that it runs in browsers', () => {
  const seen = new Set<string>();
  const outside = new Set<string>();
  const walk = (url: URL): void => {
    if (seen.has(url.href)) return;
    seen.add(url.href);
    for (const [, name = ''] of readFileSync(url, 'utf8').matchAll(
      /^(?:import|export)[^;]*? from '([^']+)';$/gms,
    )) {
      if (name.startsWith('.')) walk(new URL(name, url));
      else outside.add(name);
    }
  };
  walk(new URL('../src/index.ts', import.meta.url));
  expect(seen.size).toBeGreaterThan(25);
  expect([...outside].toSorted()).toEqual(['@portcullis/protocol', '@portcullis/protocol/documents']);
});
