/** The flag `--workload`: programs on well-known platforms, by the claims of the tokens that the platform issues to them. */
import type { WorkloadIdentity } from '@portcullis/protocol';
import { InvalidArgumentError } from 'commander';

/** The forms of the flag. */
export const WORKLOADS =
  'github:<owner>/<repository>:<ref>, gitlab:<project path>:<ref>, kubernetes:<issuer URL>:<namespace>:<service account>, or <issuer URL>#<subject>';

const GITHUB = 'https://token.actions.githubusercontent.com';
const GITLAB = 'https://gitlab.com';

/** A ref as the platforms write it: `main` is `refs/heads/main`. */
function fullRef(ref: string): string {
  return ref.startsWith('refs/') ? ref : `refs/heads/${ref}`;
}

/** For each platform, the name format and the workload identified. */
const PLATFORMS: readonly (readonly [RegExp, (...parts: readonly string[]) => WorkloadIdentity])[] = [
  [
    /^github:([\w.-]+\/[\w.-]+):(\S+)$/,
    // For jobs with an environment or event, the subject contains that instead of the ref.
    (repository = '', ref = '') => ({ issuer: GITHUB, match: { repository, ref: fullRef(ref) } }),
  ],
  [
    /^gitlab:([\w./-]+\/[\w.-]+):(\S+)$/,
    (project = '', ref = '') => ({
      issuer: GITLAB,
      match: { project_path: project, ref, ref_type: 'branch' },
    }),
  ],
  [
    /^kubernetes:(https?:\/\/\S+):([a-z0-9-]+):([a-z0-9.-]+)$/,
    // Its mounted tokens are reused until the kubelet replaces them.
    (issuer = '', namespace = '', account = '') => ({
      issuer,
      match: { sub: `system:serviceaccount:${namespace}:${account}` },
      single_use: false,
    }),
  ],
  [/^(https?:\/\/[^#\s]+)#(.+)$/, (issuer = '', sub = '') => ({ issuer, match: { sub } })],
];

/** @throws InvalidArgumentError with the supported formats */
export function readWorkload(value: string): WorkloadIdentity {
  for (const [form, create] of PLATFORMS) {
    const [whole, ...parts] = form.exec(value) ?? [];
    if (whole !== undefined) return create(...parts);
  }
  throw new InvalidArgumentError(`It must be ${WORKLOADS}.`);
}
