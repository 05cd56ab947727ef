/** The Helm chart: rendered by Helm, with fields that Kubernetes knows, and settings that the server accepts. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runHere } from '../../../packages/cli/test/support/in-process.ts';
import { installPackages } from '../../support/install.ts';
import { checkTypes, type Helm, type KubernetesObject, readObjects, unpackHelm } from './helm.ts';

const { modules, missing } = await installPackages(fileURLToPath(new URL('.', import.meta.url)));
if (missing !== undefined) console.warn(`skipped: ${missing}`);

const chart = fileURLToPath(new URL('../../../deploy/helm/portcullis', import.meta.url));
const REQUIRED = ['--set', 'publicUrl=https://auth.example.com', '--set', 'secrets.existing=portcullis'];
const SERVER =
  '--set-json=configuration={"servers":[{"path":"/mcp","backend":{"url":"http://mcp:3000/mcp"}}]}';

describe.skipIf(missing || process.platform !== 'linux')('the Helm chart', () => {
  let helm: Helm;

  beforeAll(async () => {
    helm = await unpackHelm(modules);
  });

  const render = async (...values: readonly string[]) =>
    readObjects(await helm.run('template', 'release', chart, ...REQUIRED, ...values));

  const find = (objects: readonly KubernetesObject[], kind: string) => {
    const found = objects.find((object) => object.kind === kind);
    if (found === undefined) throw new Error(`no ${kind}`);
    return found;
  };

  it('passes `helm lint`', async () => {
    expect(await helm.run('lint', chart, '--strict', ...REQUIRED)).toContain('0 chart(s) failed');
  });

  it('needs a public https URL and a secret, and says so', async () => {
    await expect(helm.run('template', 'release', chart)).rejects.toThrow(/publicUrl.*pattern/);
    await expect(
      helm.run('template', 'release', chart, '--set', 'publicUrl=https://auth.example.com'),
    ).rejects.toThrow(/secrets\/existing/);
  });

  it.each([
    { description: 'as it is', values: [], kinds: ['HorizontalPodAutoscaler', 'NetworkPolicy'] },
    {
      description: 'with an ingress, further egress and annotations',
      values: [
        ...[
          '--set',
          'ingress.enabled=true,ingress.className=nginx,ingress.tlsSecret=tls',
          '--set',
          'podAnnotations.a=b',
        ],
        '--set-json=networkPolicy.extra=[{"to":[{"podSelector":{}}]}]',
      ],
      kinds: ['Ingress'],
    },
    {
      description: 'without autoscaling and network policy',
      values: ['--set', 'autoscaling.enabled=false,networkPolicy.enabled=false'],
      kinds: [],
    },
  ])('$description, its objects have fields that Kubernetes knows only', async ({ values, kinds }) => {
    const objects = await render(...values);
    const always = ['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service'];
    expect(objects.map(({ kind }) => kind)).toEqual(expect.arrayContaining([...always, ...kinds]));
    expect(await checkTypes(modules, objects)).toBe('');
  });

  it('a misspelled field is noticed', async () => {
    const [object] = await render();
    if (object === undefined) throw new Error('nothing was rendered');
    expect(await checkTypes(modules, [{ ...object, spek: {} } as KubernetesObject])).toContain('spek');
  });

  it('runs without privileges, with probes, and stops within its grace period', async () => {
    const { spec } = find(await render('--set', 'drain=20'), 'Deployment');
    const { template } = spec as { template: { spec: Readonly<Record<string, unknown>> } };
    expect(template.spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 340,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          livenessProbe: { httpGet: { path: '/healthz' } },
          readinessProbe: { httpGet: { path: '/readyz' } },
          startupProbe: { httpGet: { path: '/healthz' } },
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          },
        },
      ],
    });
  });

  it('its configuration file and variables are valid settings', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'portcullis-chart-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const objects = await render(SERVER);
    await writeFile(
      join(folder, 'portcullis.json'),
      find(objects, 'ConfigMap').data?.['portcullis.json'] ?? '',
    );
    const { spec } = find(objects, 'Deployment') as unknown as Deployment;
    const [container] = spec.template.spec.containers;
    const secrets: Readonly<Record<string, string>> = {
      PORTCULLIS_DATABASE: 'postgres://portcullis:secret@db/portcullis',
      PORTCULLIS_KEY: Buffer.alloc(32, 7).toString('base64url'),
    };
    const variables = (container?.env ?? []).map(({ name, value }) => [name, value ?? secrets[name] ?? '']);
    // As the image sets it.
    const environment = { ...Object.fromEntries(variables), PORTCULLIS_HOST: '0.0.0.0' };
    expect(await runHere(['config', 'check', 'portcullis.json'], { folder, environment })).toMatchObject({
      code: 0,
      errors: '',
    });
  });
});

interface Deployment {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: readonly { name: string; value?: string }[] }[];
      };
    };
  };
}
