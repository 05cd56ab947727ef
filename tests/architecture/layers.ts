/** The rules for imports between packages, as a pure function over source files and manifests. */
import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { readImports } from './imports.ts';

export interface SourceFile {
  /** From the root of the repository, `packages/client/src/index.ts`. */
  readonly path: string;
  readonly text: string;
}

export interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, { readonly 'portcullis-source': string } | string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** Package folder → its manifest. */
export type Manifests = Readonly<Record<string, Manifest>>;

/** "May import", from a package to those below it. Siblings do not know each other. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  policy: ['protocol'],
  http: ['protocol'],
  'resource-server': ['protocol', 'policy'],
  'authorization-server': ['protocol', 'policy', 'http'],
  client: ['protocol', 'http'],
  store: ['protocol', 'authorization-server'],
  gateway: ['protocol', 'policy', 'http', 'resource-server', 'authorization-server', 'client'],
  admin: ['protocol', 'policy', 'http', 'resource-server', 'authorization-server', 'client', 'gateway'],
  // Starts the command, and imports nothing.
  'create-portcullis': [],
  cli: [
    'protocol',
    'policy',
    'http',
    'store',
    'resource-server',
    'authorization-server',
    'client',
    'gateway',
    'admin',
  ],
};

/** Arrows that are open for one entry and for types only. */
const typesOnly: Readonly<Record<string, string>> = {
  'store → authorization-server': '@portcullis/authorization-server/store',
};

/** Packages that load what their user names, so that an import may be computed. */
const loadsByName = ['cli'];

/** Packages that know no platform. */
const withoutNode = ['protocol', 'policy'];

/** Entries that a browser loads: neither they nor what they reach may need Node. */
const browserSafe = ['@portcullis/client', '@portcullis/client/steps'];
const unsafeInBrowser = ['@portcullis/http'];

const COMPUTED = '(computed)';

/** One link of a file, with where it leads. */
interface Link {
  readonly from: string;
  readonly specifier: string;
  readonly runtime: boolean;
  readonly to:
    | { readonly kind: 'file'; readonly path: string }
    | { readonly kind: 'package'; readonly folder: string; readonly path: string | undefined }
    | { readonly kind: 'node' }
    | { readonly kind: 'third party'; readonly name: string }
    | { readonly kind: 'computed' }
    | { readonly kind: 'nowhere' };
}

/** Returns one line per violation. */
export function findViolations(files: readonly SourceFile[], manifests: Manifests): readonly string[] {
  const paths = new Set(files.map((file) => file.path));
  const links = files.flatMap((file) => readLinks(file, paths, manifests));
  return [
    ...links.flatMap((link) => wrongTarget(link)),
    ...links.flatMap((link) => wrongArrow(link)),
    ...links.flatMap((link) => unlisted(link, manifests)),
    ...links.flatMap((link) => platformBelow(link)),
    ...cycles(links),
    ...browserSafe.flatMap((entry) => unsafeReach(entry, links, manifests)),
  ];
}

function readLinks(file: SourceFile, paths: ReadonlySet<string>, manifests: Manifests): readonly Link[] {
  if (file.path.endsWith('.json')) return [];
  return readImports(file.path, file.text).map(({ specifier = COMPUTED, runtime }) => ({
    from: file.path,
    specifier,
    runtime,
    to: resolve(file.path, specifier, paths, manifests),
  }));
}

function resolve(
  from: string,
  specifier: string,
  paths: ReadonlySet<string>,
  manifests: Manifests,
): Link['to'] {
  if (specifier === COMPUTED) return { kind: 'computed' };
  if (specifier.startsWith('.')) {
    const path = posix.join(posix.dirname(from), specifier);
    return paths.has(path) ? { kind: 'file', path } : { kind: 'nowhere' };
  }
  const name = packageName(specifier);
  const ours = Object.entries(manifests).find(([, manifest]) => manifest.name === name);
  if (ours !== undefined) {
    const entry = entryOf(ours[1], `.${specifier.slice(name.length)}`);
    return {
      kind: 'package',
      folder: ours[0],
      path: entry && posix.join('packages', ours[0], entry),
    };
  }
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) return { kind: 'node' };
  return { kind: 'third party', name };
}

function packageName(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** The source file behind `.`, `./node` or, by a pattern, `./challenge`. */
function entryOf(manifest: Manifest, subpath: string): string | undefined {
  for (const [pattern, target] of Object.entries(manifest.exports ?? {})) {
    if (typeof target === 'string') continue;
    if (pattern === subpath) return target['portcullis-source'];
    const [before, after] = pattern.split('*');
    if (after === undefined || before === undefined || !subpath.startsWith(before)) continue;
    return target['portcullis-source'].replace('*', subpath.slice(before.length));
  }
  return undefined;
}

function folderOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function wrongTarget({ from, specifier, to }: Link): readonly string[] {
  if (to.kind === 'computed' && !loadsByName.includes(folderOf(from)))
    return [`${from} computes what it imports, which hides it from every check`];
  if (to.kind === 'nowhere') return [`${from} imports ${specifier}, which is no file of the workspace`];
  if (to.kind === 'file' && folderOf(from) !== folderOf(to.path))
    return [`${from} reaches into another package by path: ${specifier}`];
  if (to.kind === 'package' && to.path === undefined)
    return [`${from} imports ${specifier}, which that package does not export`];
  return [];
}

function wrongArrow({ from, specifier, runtime, to }: Link): readonly string[] {
  if (to.kind !== 'package') return [];
  const [upper, lower] = [folderOf(from), to.folder];
  if (upper === lower) return [`${from} imports its own package by name: ${specifier}`];
  const allowed = arrows[upper];
  if (allowed === undefined) return [`${upper} has no layer: add its allowed imports`];
  if (!allowed.includes(lower)) return [`${from}: ${upper} may not import ${lower}`];
  const entry = typesOnly[`${upper} → ${lower}`];
  if (entry === undefined || (specifier === entry && !runtime)) return [];
  return [`${from}: ${upper} may import from ${lower} only the types of ${entry}, with "import type"`];
}

/** What is imported stands in the manifest of the package that imports it. */
function unlisted({ from, specifier, to }: Link, manifests: Manifests): readonly string[] {
  if (to.kind !== 'third party' && to.kind !== 'package') return [];
  const folder = folderOf(from);
  const name = packageName(specifier);
  const manifest = manifests[folder];
  if (name === manifest?.name) return [];
  const listed = {
    ...manifest?.dependencies,
    ...manifest?.optionalDependencies,
    ...manifest?.peerDependencies,
  };
  return name in listed
    ? []
    : [`${from} imports ${name}, which packages/${folder}/package.json does not list`];
}

function platformBelow({ from, specifier, to }: Link): readonly string[] {
  const wrong = to.kind === 'node' && withoutNode.includes(folderOf(from));
  return wrong ? [`${from} imports ${specifier}: ${folderOf(from)} knows no platform`] : [];
}

function target({ to }: Link): string | undefined {
  return to.kind === 'file' || to.kind === 'package' ? to.path : undefined;
}

/** Import cycles between files, of types as well, each reported once, from its first file by name. */
function cycles(links: readonly Link[]): readonly string[] {
  const next = followers(links);
  const reported = new Set<string>();
  const finished = new Set<string>();
  const walk = (file: string, trail: readonly string[]) => {
    const at = trail.indexOf(file);
    if (at >= 0) {
      reported.add(`cycle: ${fromFirst(trail.slice(at)).join(' → ')}`);
      return;
    }
    if (finished.has(file)) return;
    for (const follower of next.get(file) ?? []) walk(follower, [...trail, file]);
    finished.add(file);
  };
  for (const file of next.keys()) walk(file, []);
  return [...reported];
}

function followers(links: readonly Link[]): ReadonlyMap<string, readonly string[]> {
  const next = new Map<string, string[]>();
  for (const link of links) {
    const to = target(link);
    if (to !== undefined) next.set(link.from, [...(next.get(link.from) ?? []), to]);
  }
  return next;
}

function fromFirst(cycle: readonly string[]): readonly string[] {
  const start = cycle.indexOf(cycle.toSorted()[0] ?? '');
  return [...cycle.slice(start), ...cycle.slice(0, start), ...cycle.slice(start, start + 1)];
}

/** Every way by which a browser entry comes to need Node, with the trail that leads there. */
function unsafeReach(entry: string, links: readonly Link[], manifests: Manifests): readonly string[] {
  const manifest = Object.entries(manifests).find(([, { name }]) => name === packageName(entry));
  const source = manifest && entryOf(manifest[1], `.${entry.slice(packageName(entry).length)}`);
  if (manifest === undefined || source === undefined) return [];

  const found: string[] = [];
  const seen = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const link of links.filter(({ from }) => from === file)) {
      const way = [...trail, file, link.specifier].join(' → ');
      const next = target(link);
      if (link.to.kind === 'node' || unsafeInBrowser.includes(packageName(link.specifier)))
        found.push(`${entry} must load in a browser: ${way}`);
      else if (link.runtime && next !== undefined) visit(next, [...trail, file]);
    }
  };
  visit(posix.join('packages', manifest[0], source), []);
  return found;
}
