/**
 * Publishes the built packages, each after its dependencies, with provenance; a package whose version the registry has is left
 * alone, so that an interrupted release can be repeated. Run by the workflow `release`.
 * `node scripts/publish.ts --tag v0.1.0 --repository https://github.com/OWNER/NAME [--dry-run]`
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type PublishedPackage, publishedPackages } from './packages.ts';

const { values } = parseArgs({
  options: { tag: { type: 'string' }, repository: { type: 'string' }, 'dry-run': { type: 'boolean' } },
});
const { tag, repository, 'dry-run': dryRun = false } = values;

/** The registry rejects provenance unless the manifest names the repository of the workflow. */
function nameRepository({ folder }: PublishedPackage, url: string): void {
  const file = `${folder}/package.json`;
  const manifest: object = JSON.parse(readFileSync(file, 'utf8'));
  const named = { ...manifest, repository: { type: 'git', url: `git+${url}.git`, directory: folder } };
  writeFileSync(file, `${JSON.stringify(named, null, 2)}\n`);
}

function isPublished({ name, version }: PublishedPackage): boolean {
  return (
    spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' }).stdout.trim() ===
    version
  );
}

function publish(one: PublishedPackage): boolean {
  if (!dryRun && isPublished(one)) return true;
  if (repository !== undefined && !dryRun) nameRepository(one, repository);
  const args = ['publish', `./${one.folder}`, '--access', 'public', '--ignore-scripts'];
  const how = dryRun ? ['--dry-run'] : ['--provenance'];
  return spawnSync('npm', [...args, ...how], { stdio: 'inherit' }).status === 0;
}

const packages = publishedPackages('.');
const others = packages.filter(({ version }) => `v${version}` !== tag);
if (!dryRun && repository === undefined) throw new Error('name the --repository of the workflow');
if (others.length > 0)
  throw new Error(
    `--tag ${tag} does not match ${others.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
  );
// Stops at the first that fails, because later ones depend on it.
const failed = packages.find((one) => !publish(one));
if (failed !== undefined) throw new Error(`${failed.name} was not published`);
