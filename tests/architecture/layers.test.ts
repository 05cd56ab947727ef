/** The workspace obeys the import rules, and the checker catches every kind of violation. */
import { globSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findViolations, type Manifest, type Manifests } from './layers.ts';

const entry = (source: string) => ({ 'portcullis-source': source });
const manifests: Manifests = {
  protocol: {
    name: '@portcullis/protocol',
    exports: { '.': entry('./src/index.ts'), './*': entry('./src/*.ts') },
    dependencies: { zod: '*' },
  },
  http: {
    name: '@portcullis/http',
    exports: { '.': entry('./src/index.ts') },
    dependencies: { '@portcullis/protocol': '*' },
  },
  'resource-server': {
    name: '@portcullis/resource-server',
    exports: { '.': entry('./src/index.ts') },
    dependencies: { '@portcullis/protocol': '*', '@portcullis/http': '*', '@portcullis/client': '*' },
  },
  'authorization-server': {
    name: '@portcullis/authorization-server',
    exports: { '.': entry('./src/index.ts'), './store': entry('./src/store/index.ts') },
    dependencies: { '@portcullis/protocol': '*' },
  },
  store: {
    name: '@portcullis/store',
    exports: { '.': entry('./src/index.ts') },
    dependencies: { '@portcullis/authorization-server': '*' },
  },
  client: {
    name: '@portcullis/client',
    exports: { '.': entry('./src/index.ts'), './node': entry('./src/node.ts') },
    dependencies: { '@portcullis/protocol': '*', '@portcullis/http': '*' },
    peerDependencies: { oauth4webapi: '*' },
  },
  cli: {
    name: '@portcullis/cli',
    exports: { '.': entry('./src/index.ts') },
    dependencies: { '@portcullis/client': '*' },
  },
};

/** Checks a workspace given as path → text, paths without the leading `packages/`. */
function check(files: Readonly<Record<string, string>>): readonly string[] {
  const sources = Object.entries(files).map(([path, text]) => ({ path: `packages/${path}`, text }));
  return findViolations(sources, manifests);
}

describe('the workspace', () => {
  const files = globSync('packages/*/src/**/*.{ts,json}').map((path) => ({
    path,
    text: readFileSync(path, 'utf8'),
  }));
  const ours: Record<string, Manifest> = {};
  for (const path of globSync('packages/*/package.json'))
    ours[dirname(path).slice('packages/'.length)] = JSON.parse(readFileSync(path, 'utf8'));

  it('finds sources to check', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it('obeys the import rules', () => {
    expect(findViolations(files, ours)).toEqual([]);
  });
});

describe('arrows between packages', () => {
  const body = 'export const answer = 42;';

  it.each([
    [
      'down',
      { 'http/src/index.ts': `import { a } from '@portcullis/protocol/a';`, 'protocol/src/a.ts': body },
    ],
    [
      'to the top of all',
      { 'cli/src/index.ts': `import '@portcullis/client';`, 'client/src/index.ts': body },
    ],
    [
      'types of the ports',
      { 'store/src/a.ts': `import type { S } from '@portcullis/authorization-server/store';` },
    ],
    ['listed third party', { 'protocol/src/a.ts': `import * as z from 'zod/mini';` }],
    ['listed peer', { 'client/src/a.ts': `import 'oauth4webapi';` }],
    ['what the user names, by the command line', { 'cli/src/a.ts': 'await import(name);' }],
    ['inside a package', { 'http/src/a.ts': `export * from './deep/b.ts';`, 'http/src/deep/b.ts': body }],
  ])('allows %s', (_name, files) => {
    expect(check(files)).toEqual([]);
  });

  it.each([
    ['up', 'protocol/src/a.ts', `import '@portcullis/http';`, 'protocol may not import http'],
    [
      'up, as a type',
      'http/src/a.ts',
      `import type { A } from '@portcullis/client';`,
      'http may not import client',
    ],
    [
      'sideways',
      'resource-server/src/a.ts',
      `export { a } from '@portcullis/client';`,
      'resource-server may not import client',
    ],
    [
      'a guard that needs http',
      'resource-server/src/a.ts',
      `import '@portcullis/http';`,
      'resource-server may not import http',
    ],
    ['to the cli', 'client/src/a.ts', `await import('@portcullis/cli');`, 'client may not import cli'],
    [
      'hidden in a type query',
      'client/src/a.ts',
      `let a: import('@portcullis/store').A;`,
      'client may not import store',
    ],
    ['from an unknown package', 'sidecar/src/a.ts', `import '@portcullis/http';`, 'sidecar has no layer'],
    ['to itself by name', 'http/src/a.ts', `import '@portcullis/http';`, 'imports its own package by name'],
    [
      'past the exports',
      'client/src/a.ts',
      `import '@portcullis/http/secret';`,
      'which that package does not export',
    ],
    [
      'across by path',
      'client/src/a.ts',
      `import '../../protocol/src/a.ts';`,
      'which is no file of the workspace',
    ],
    [
      'of code from the ports',
      'store/src/a.ts',
      `import { S } from '@portcullis/authorization-server/store';`,
      'only the types of',
    ],
    [
      'of inline types from the ports',
      'store/src/a.ts',
      `import { type S } from '@portcullis/authorization-server/store';`,
      'only the types of',
    ],
    [
      'of types beside the ports',
      'store/src/a.ts',
      `import type { S } from '@portcullis/authorization-server';`,
      'only the types of',
    ],
    [
      'of an unlisted third party',
      'protocol/src/a.ts',
      `import 'jose/jwt/sign';`,
      'imports jose, which packages/protocol/package.json does not list',
    ],
    [
      'of an unlisted sibling below',
      'cli/src/a.ts',
      `import '@portcullis/protocol';`,
      'packages/cli/package.json does not list',
    ],
    ['of something computed', 'http/src/a.ts', 'await import(name);', 'computes what it imports'],
    [
      'of a platform, in protocol',
      'protocol/src/a.ts',
      `import { hash } from 'node:crypto';`,
      'protocol knows no platform',
    ],
    [
      'of a platform by its old name',
      'protocol/src/a.ts',
      `import { hash } from 'crypto';`,
      'protocol knows no platform',
    ],
  ])('refuses an arrow %s', (_name, path, text, expected) => {
    expect(check({ [path]: text }).join('\n')).toContain(expected);
  });

  it('refuses a path into another package, even to a file that exists', () => {
    const files = { 'client/src/a.ts': `import '../../protocol/src/b.ts';`, 'protocol/src/b.ts': body };
    expect(check(files).join('\n')).toContain('reaches into another package by path');
  });
});

describe('cycles between files', () => {
  it('reports each once, with its members', () => {
    const violations = check({
      'http/src/a.ts': `import './b.ts';`,
      'http/src/b.ts': `export * from './c.ts';`,
      'http/src/c.ts': `import { a } from './a.ts';`,
    });
    const [a, b, c] = ['a', 'b', 'c'].map((name) => `packages/http/src/${name}.ts`);
    expect(violations).toEqual([`cycle: ${a} → ${b} → ${c} → ${a}`]);
  });

  it('counts imports of types as well', () => {
    const files = {
      'http/src/a.ts': `import './b.ts';`,
      'http/src/b.ts': `import type { A } from './a.ts';`,
    };
    const [a, b] = ['a', 'b'].map((name) => `packages/http/src/${name}.ts`);
    expect(check(files)).toEqual([`cycle: ${a} → ${b} → ${a}`]);
    expect(check({ 'http/src/a.ts': `import './b.ts';`, 'http/src/b.ts': 'export type A = 1;' })).toEqual([]);
  });
});

describe('the browser entry', () => {
  it('may not reach Node, however far down', () => {
    const violations = check({
      'client/src/index.ts': `export { a } from './a.ts';`,
      'client/src/a.ts': `import { createHash } from 'node:crypto';`,
    });
    expect(violations).toEqual([
      '@portcullis/client must load in a browser: ' +
        'packages/client/src/index.ts → packages/client/src/a.ts → node:crypto',
    ]);
  });

  it('may not reach the package of the server edge, even for a type', () => {
    const violations = check({ 'client/src/index.ts': `import type { A } from '@portcullis/http';` });
    expect(violations.join('\n')).toContain('must load in a browser');
  });

  it('leaves the Node entry of the same package free', () => {
    const violations = check({
      'client/src/index.ts': `import type { A } from './node.ts';`,
      'client/src/node.ts': `import 'node:http'; import '@portcullis/http';`,
      'http/src/index.ts': 'export const a = 1;',
    });
    expect(violations).toEqual([]);
  });
});
