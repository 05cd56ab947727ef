/** What a release needs: versions, manifests and changelogs of the packages, and the workflow that publishes them. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { publishedPackages } from '../../scripts/packages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const packages = publishedPackages(root);
const [{ version } = { version: '' }] = packages;

interface Manifest {
  readonly name: string;
  readonly license?: string;
  readonly private?: boolean;
  readonly scripts?: object;
  readonly files?: readonly string[];
  readonly engines?: { readonly node?: string };
  readonly publishConfig?: object;
  readonly dependencies?: Readonly<Record<string, string>>;
}

describe.each(packages)('$name', ({ name, folder, ...one }) => {
  const manifest: Manifest = JSON.parse(read(`${folder}/package.json`));

  it('has the version of all packages, and names others of them in exactly that version', () => {
    const ours = Object.entries(manifest.dependencies ?? {}).filter(([other]) =>
      other.startsWith('@portcullis/'),
    );
    expect([one.version, ours.filter(([, range]) => range !== version)]).toEqual([version, []]);
  });

  it('is public, with a licence, without scripts that npm runs, and is published with provenance', () => {
    expect(manifest).toMatchObject({ license: 'MIT', publishConfig: { access: 'public', provenance: true } });
    expect([manifest.private, manifest.scripts]).toEqual([undefined, undefined]);
  });

  it('brings its changelog, which begins with the version, and a README', () => {
    expect(read(`${folder}/CHANGELOG.md`)).toMatch(
      new RegExp(`^# ${name}\n\n## ${version.replaceAll('.', '\\.')}\n`),
    );
    expect(manifest.files).toContain('CHANGELOG.md');
    expect(existsSync(join(root, folder, 'README.md'))).toBe(true);
  });
});

interface Job {
  readonly needs?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

describe('the release workflow', () => {
  const text = read('.github/workflows/release.yml');
  const { permissions, jobs }: { permissions: object; jobs: Readonly<Record<string, Job>> } = parse(text);

  it('pins every action to a commit', () => {
    const actions = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses = [] }) => uses));
    expect(actions.length).toBeGreaterThan(0);
    expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });

  it('lets only the job that publishes sign, after every check has passed', () => {
    const signing = Object.keys(jobs).filter((name) => jobs[name]?.permissions?.['id-token'] === 'write');
    expect([permissions, signing, jobs['publish']?.needs]).toEqual([{}, ['publish'], 'verify']);
    expect(jobs['verify']?.steps.map(({ run }) => run)).toContain('bash .ci/run');
  });

  it('inserts no value of the event into a shell script', () => {
    const scripts = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
    expect(scripts.filter((script) => script.includes('${{'))).toEqual([]);
  });
});
