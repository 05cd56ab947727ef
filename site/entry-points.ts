/** What programs import from the packages: the entry points in `exports`. */
import { globSync, readFileSync } from 'node:fs';
import { root } from './pages.ts';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly 'portcullis-source'?: string }>>;
}

/** Source file → the name by which programs import it. */
export function findEntryPoints(): ReadonlyMap<string, string> {
  const entries = globSync('packages/*/package.json', { cwd: root })
    .sort()
    .flatMap((file) => {
      const { name, exports }: Manifest = JSON.parse(readFileSync(`${root}${file}`, 'utf8'));
      return Object.entries(exports).flatMap(([path, target]): [string, string][] => {
        const source = typeof target === 'string' ? undefined : target['portcullis-source'];
        return source?.startsWith('./src/')
          ? [[file.replace('package.json', source.slice(2)), name + path.slice(1)]]
          : [];
      });
    });
  return new Map(entries);
}
