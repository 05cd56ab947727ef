/** A package registry on this machine that has the packed packages, and refers to the configured registry for all others. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { packOf, publishedPackages } from '../../scripts/packages.ts';

const run = promisify(execFile);

export interface Registry extends AsyncDisposable {
  readonly url: string;
}

interface Packed {
  readonly manifest: { readonly name: string; readonly version: string };
  readonly tarball: Buffer;
}

/** @throws if npm is missing, or a package is not built (`npm run build`) */
export async function startRegistry(root: string): Promise<Registry> {
  const packages = await readPacks(root);
  const upstream = await npm(root, 'config', 'get', 'registry');
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    const [name = '', file] = path.split('/-/');
    const packed = packages.get(name);
    if (packed === undefined) response.writeHead(302, { location: new URL(path, upstream).href }).end();
    else if (file === undefined) respondDocument(response, packed, url());
    else response.end(packed.tarball);
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: url(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** What a registry knows about a package with one version. */
function respondDocument(response: ServerResponse, { manifest, tarball }: Packed, url: string): void {
  const { name, version } = manifest;
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `${url}${name}/-/${version}.tgz`, integrity };
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...manifest, dist } },
    }),
  );
}

/** Every published package as `npm publish` would upload it. */
async function readPacks(root: string): Promise<ReadonlyMap<string, Packed>> {
  const packed = publishedPackages(root).map(async (one) => {
    const file = packOf(root, one);
    const { stdout } = await run('tar', ['-xzOf', file, 'package/package.json']);
    return [one.name, { manifest: JSON.parse(stdout), tarball: await readFile(file) }] as const;
  });
  return new Map(await Promise.all(packed));
}

async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  return (await run('npm', args, { cwd, timeout: 120_000 })).stdout.trim();
}
