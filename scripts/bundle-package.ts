/**
 * Joins the modules of a built package: a start that loads hundreds of small files spends half of its time on finding them. Entries
 * keep their paths; what they share and what is imported on demand become further files. Other packages stay apart.
 */
import { globSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';

interface Manifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, Target>>;
  readonly imports?: Readonly<Record<string, Target>>;
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies?: object;
}

/** A file, or one by condition. */
type Target = string | Readonly<Record<string, string>>;

/** Stack traces lead to the sources, which are published as well. */
const sourceMaps: Plugin = {
  name: 'source-maps',
  load: {
    filter: { id: /\.js$/ },
    handler: (id) => ({ code: readFileSync(id, 'utf8'), map: readFileSync(`${id}.map`, 'utf8') }),
  },
};

/**
 * @param dist what the compiler has written for the package in this folder; replaced
 * @throws if it imports what its manifest does not list
 */
export async function bundlePackage(folder: string, dist = join(folder, 'dist')): Promise<void> {
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  // The types import JSON files, which stay.
  const compiled = globSync(join(dist, '**/*.js'));
  const bundle = await rolldown({
    input: Object.fromEntries(entriesOf(manifest).map((entry) => [entry, join(dist, `${entry}.js`)])),
    platform: 'node',
    // The compiler has lowered what the runtimes of the package lack.
    tsconfig: false,
    external: otherPackages(manifest),
    plugins: [sourceMaps],
  });
  const { output } = await bundle.write({
    dir: dist,
    format: 'esm',
    sourcemap: true,
    keepNames: true,
    // As deep as the modules that read the manifest beside `dist`.
    chunkFileNames: '[name]-[hash].js',
  });
  const written = new Set(output.map(({ fileName }) => join(dist, fileName)));
  for (const file of compiled.filter((file) => !written.has(file)))
    for (const path of [file, `${file}.map`]) rmSync(path, { force: true });
}

/** Where programs begin: `adapters/node` for `dist/adapters/node.js`. */
function entriesOf({ exports, imports }: Manifest): readonly string[] {
  return Object.values({ ...exports, ...imports }).flatMap((target) =>
    typeof target === 'object' && target['default'] !== undefined
      ? [relative('dist', target['default']).replace(/\.js$/, '')]
      : [],
  );
}

function otherPackages(manifest: Manifest): (specifier: string) => boolean {
  const { name, dependencies, optionalDependencies, peerDependencies } = manifest;
  const listed = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return (specifier) => {
    if (/^[./]/.test(specifier)) return false;
    // Helpers that the bundler adds, for example: the published package would not start.
    if (!isBuiltin(specifier) && !listed.some((one) => `${specifier}/`.startsWith(`${one}/`)))
      throw new Error(`${name} imports ${specifier}, which its package.json does not list`);
    return true;
  };
}
