/** Bundles the sources of all packages for the processes that tests start: `node bundle-sources.ts FOLDER`. See `source-flags.ts`. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type OutputChunk, type Plugin, rolldown } from 'rolldown';
import { publishedPackages } from '../../scripts/packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CONDITION = 'portcullis-source';

/** Starts load their hundred modules, and the client would load zod again. Other dependencies are loaded as they are installed. */
const BUNDLED_DEPENDENCIES = /\/node_modules\/(?:zod|commander|@modelcontextprotocol\/(?:client|core))\//;

/** Paths by condition, or one path. */
type Targets = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** The source files that programs import by the name of a package, and those that the commands begin with. */
function entries(): string[] {
  return publishedPackages(root).flatMap(({ folder }) => {
    const manifest: { exports?: Targets; imports?: Targets } = JSON.parse(
      readFileSync(join(root, folder, 'package.json'), 'utf8'),
    );
    return Object.values({ ...manifest.exports, ...manifest.imports }).flatMap((target) => {
      const source = typeof target === 'string' ? undefined : target[CONDITION];
      return source === undefined ? [] : [join(root, folder, source)];
    });
  });
}

const dependencies: Plugin = {
  name: 'dependencies',
  async resolveId(specifier, importer, options) {
    const found = await this.resolve(specifier, importer, { ...options, skipSelf: true });
    const isInstalled = found?.id.includes('/node_modules/') === true;
    if (!isInstalled || BUNDLED_DEPENDENCIES.test(found.id)) return found;
    return { id: found.id, external: 'absolute' };
  },
};

/** Modules find files beside their sources. */
const locations: Plugin = {
  name: 'locations',
  transform: (code, id) =>
    code.includes('import.meta.url')
      ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
      : null,
};

/** Loads the bundle's file for each of the entries, whichever module imports it. */
function hook(chunks: readonly OutputChunk[]): string {
  const files = chunks.flatMap(({ isEntry, facadeModuleId, fileName }) =>
    isEntry && facadeModuleId !== null ? [[pathToFileURL(facadeModuleId).href, fileName]] : [],
  );
  return `import { registerHooks } from 'node:module';
const files = new Map(${JSON.stringify(files)});
registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const file = files.get(found.url);
    return file === undefined ? found : { ...found, url: new URL(file, import.meta.url).href, format: 'module' };
  },
});
`;
}

const [, , folder = ''] = process.argv;
const bundle = await rolldown({
  input: entries(),
  platform: 'node',
  resolve: { conditionNames: [CONDITION, 'node', 'import', 'module-sync', 'default'] },
  plugins: [dependencies, locations],
  external: ['vitest'],
  // All modules run as they do without a bundler.
  treeshake: false,
});
const { output } = await bundle.write({ dir: folder, format: 'esm', keepNames: true });
writeFileSync(join(folder, 'hook.mjs'), hook(output.filter((file) => file.type === 'chunk')));
