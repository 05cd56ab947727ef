/** The flag `--workload` of `portcullis clients add`. */
import { describe, expect, it } from 'vitest';
import { readWorkload } from '../src/admin/clients/workload.ts';

describe('the flag --workload', () => {
  it.each([
    [
      'github:acme/app:main',
      {
        issuer: 'https://token.actions.githubusercontent.com',
        match: { repository: 'acme/app', ref: 'refs/heads/main' },
      },
    ],
    [
      'github:acme/app:refs/tags/v1',
      {
        issuer: 'https://token.actions.githubusercontent.com',
        match: { repository: 'acme/app', ref: 'refs/tags/v1' },
      },
    ],
    [
      'gitlab:acme/tools/app:main',
      {
        issuer: 'https://gitlab.com',
        match: { project_path: 'acme/tools/app', ref: 'main', ref_type: 'branch' },
      },
    ],
    [
      'kubernetes:https://oidc.example.com/c1:default:notes',
      {
        issuer: 'https://oidc.example.com/c1',
        match: { sub: 'system:serviceaccount:default:notes' },
        single_use: false,
      },
    ],
    ['https://idp.example#job', { issuer: 'https://idp.example', match: { sub: 'job' } }],
  ])('[X-WIF-6] %s names a workload', (value, expected) => {
    expect(readWorkload(value)).toEqual(expected);
  });

  it.each(['github:acme', 'github:acme/app', 'travis:acme/app:main', ''])('rejects %j', (value) => {
    expect(() => readWorkload(value)).toThrow('It must be github:');
  });
});
