/** What each installed package brings along: how many packages, how many bytes, under which licences. */
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesBelow, installClosure, manifestOf } from '../../scripts/install-closure.ts';
import { publishedPackages } from '../../scripts/packages.ts';
import { injectProject } from './inject.ts';
import { root } from './project.ts';

const { project, missing } = injectProject();
const modules = join(project.folder, 'node_modules');

/** Licences that allow any use, if the notice is kept. */
const PERMISSIVE = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT-0',
];

/** `(MIT OR GPL-2.0)`: one of a choice suffices, and each of several is needed. */
const isPermissive = (license: string): boolean =>
  license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((one) => one.split(' AND ').every((each) => PERMISSIVE.includes(each)));

/** `| [@portcullis/store](../packages/store) | SQLite … | 25 packages, 4.1 MB |` */
const rows = [
  ...readFileSync(join(root, 'docs/packages.md'), 'utf8').matchAll(
    /^\| \[((?:@portcullis\/|create-)[\w-]+)\]\(\S+\) \| .* \| (\d+) packages?, ([\d.]+) MB \|$/gm,
  ),
].map(([, name = '', packages, megabytes]) => ({
  name,
  packages: Number(packages),
  megabytes: Number(megabytes),
}));

describe.skipIf(missing)('what the installed packages bring along', () => {
  it('docs/packages.md lists each package', () => {
    expect(rows.map(({ name }) => name).toSorted()).toEqual(
      publishedPackages(root)
        .map(({ name }) => name)
        .toSorted(),
    );
  });

  it.each(rows)(
    '$name: as many packages and bytes as docs/packages.md says',
    ({ name, packages, megabytes }) => {
      const found = [...installClosure(realpathSync(join(modules, name)), true)];
      // Without what the command caches beside itself when it runs.
      const files = found.flatMap(filesBelow).filter((path) => !path.includes('/.compile-cache/'));
      const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
      const measured = `${found.length} packages, ${(bytes / 1e6).toFixed(1)} MB`;
      const tolerated = Math.max(0.1, megabytes * 0.1);
      expect({
        measured,
        packages: found.length,
        off: Math.abs(bytes / 1e6 - megabytes) <= tolerated,
      }).toEqual({
        measured,
        packages,
        off: true,
      });
    },
  );

  it('every dependency has a permissive licence', () => {
    const folders = new Set(
      rows.flatMap(({ name }) => [...installClosure(realpathSync(join(modules, name)), true)]),
    );
    const licences = [...folders]
      .map((folder) => manifestOf(folder))
      .map(({ name, license = 'none' }) => ({ name, license }));
    expect(licences.filter(({ license }) => !isPermissive(license))).toEqual([]);
  });
});
