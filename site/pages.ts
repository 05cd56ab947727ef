/** Which Markdown files are pages, at which address, and the order of the sidebar. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('..', import.meta.url));

/** Title → files, in the order in which they are read. A folder is all of its files. */
export const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  Start: [
    'docs/guides/protect-a-server.md',
    'README.md',
    'docs/guides/own-server.md',
    'docs/guides/connect-a-client.md',
    'docs/lifecycle.md',
    'docs/common-problems.md',
    'docs/glossary.md',
  ],
  Guides: [
    'docs/guides/stdio-server.md',
    'docs/gateway.md',
    'docs/policy.md',
    'docs/frameworks.md',
    'docs/guides/test-in-ci.md',
    'docs/guides/sign-in.md',
    'docs/guides/restrict-by-group.md',
    'docs/identity-providers.md',
    'docs/guides/provisioning.md',
    'docs/guides/machine-clients.md',
    'docs/enterprise.md',
    'docs/pages.md',
  ],
  Operate: [
    'docs/operating.md',
    'docs/guides/monitoring.md',
    'docs/guides/opentelemetry.md',
    'docs/guides/console.md',
    'docs/guides/admin-api.md',
    'docs/guides/webhooks.md',
    'docs/guides/shared-signals.md',
    'docs/guides/mail.md',
    'docs/guides/reverse-proxy.md',
    'docs/guides/revoke.md',
    'docs/guides/rotate.md',
    'docs/guides/back-up.md',
    'docs/guides/upgrade.md',
    'docs/guides/sizing.md',
    'docs/guides/scale.md',
    'docs/guides/high-availability.md',
    'docs/guides/postgresql.md',
    'docs/guides/kubernetes.md',
  ],
  Move: [
    'docs/guides/move-from-oidc-provider.md',
    'docs/guides/move-from-keycloak.md',
    'docs/guides/move-from-workers-oauth-provider.md',
    'docs/guides/move-from-your-own.md',
  ],
  Hosts: [
    'docs/hosts/claude.md',
    'docs/hosts/chatgpt.md',
    'docs/hosts/vs-code.md',
    'docs/hosts/cursor.md',
    'docs/hosts/inspector.md',
    'docs/hosts/mcp-remote.md',
    'docs/hosts/stdio-hosts.md',
  ],
  Reference: [
    'docs/configuration.md',
    'docs/http-api.md',
    'docs/errors.md',
    'docs/events.md',
    'docs/metrics.md',
    'docs/standards.md',
    'docs/comparison.md',
  ],
  Packages: [
    'docs/packages.md',
    'packages/cli/README.md',
    'packages/create-portcullis/README.md',
    'packages/resource-server/README.md',
    'packages/authorization-server/README.md',
    'packages/gateway/README.md',
    'packages/admin/README.md',
    'packages/client/README.md',
    'packages/store/README.md',
    'packages/http/README.md',
    'packages/policy/README.md',
    'packages/protocol/README.md',
  ],
  Results: [
    'docs/conformance.md',
    'docs/interoperability.md',
    'docs/benchmarks.md',
    'bench/RESULTS.md',
    'bench/NOTES.md',
    'docs/resilience.md',
    'docs/fuzz.md',
    'docs/mutation.md',
    'docs/requirements/README.md',
  ],
  Security: ['SECURITY.md', 'docs/threat-model.md'],
  Project: ['CONTRIBUTING.md', 'STYLE.md', 'docs/decisions/README.md'],
};

/** Pages that others link to and no sidebar lists. */
const UNLISTED = ['docs/decisions/*.md', 'examples/*/README.md'];

/** Every page: its file → its address below the root of the site, without the extension. */
export function findPages(): ReadonlyMap<string, string> {
  const files = [...Object.values(SECTIONS).flat(), ...globSync(UNLISTED, { cwd: root })];
  const missing = globSync(['docs/**/*.md', 'packages/*/README.md'], { cwd: root }).filter(
    (file) => !files.includes(file),
  );
  if (missing.length > 0) throw new Error(`No section of site/pages.ts has ${missing.join(', ')}.`);
  return new Map(files.map((file) => [file, addressOf(file)]));
}

/** `docs/guides/revoke.md` → `guides/revoke`, `packages/cli/README.md` → `packages/cli`, `docs/decisions/README.md` → `decisions/index`. */
function addressOf(file: string): string {
  if (file === 'README.md') return 'introduction';
  const address = file.replace(/^docs\//, '').replace(/\.md$/, '');
  return (
    address.startsWith('packages/') || address.startsWith('examples/')
      ? address.replace(/\/README$/, '')
      : address.replace(/README$/, 'index')
  ).toLowerCase();
}

/** The first heading of a page. */
export function titleOf(file: string): string {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(`${root}${file}`, 'utf8')) ?? [];
  return title.replaceAll('`', '');
}
