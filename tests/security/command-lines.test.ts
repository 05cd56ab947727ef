/** Secrets in command lines: `ps` shows them to every user of a computer, so no document recommends one. */
import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);
const documents = globSync('{README,CONTRIBUTING,SECURITY}.md', { cwd: root }).concat(
  globSync('{docs,packages/*,examples/*}/**/*.md', {
    cwd: root,
    exclude: (path) => /node_modules/.test(String(path)),
  }),
);

/** Ways in which a shell passes a secret as an argument, or leaves it in its history. */
const EXPOSURES: readonly RegExp[] = [
  /curl\b[^\n|]* (?:-u|--user|--oauth2-bearer)[ =]/,
  /curl\b[^\n|]* (?:-H|--header)[ =]["']?authorization:/i,
  /curl\b[^\n|]* (?:-d|--data\S*)[ =]["']?(?:client_secret|password|refresh_token|token)=/,
  /--(?:bootstrap-password|metrics-token|key|client-secret|password|secret|token)[ =][^-\s|`[\]]/,
  /^\s*\w*(?:SECRET|PASSWORD|TOKEN|_KEY)=\S+ +\w/m,
  /postgres(?:ql)?:\/\/[^\s:@/]+:[^\s@/]+@/,
];

it('no document passes a secret in a command line', () => {
  expect(documents.length).toBeGreaterThan(20);
  const found = documents.flatMap((path) => {
    const text = readFileSync(new URL(path, root), 'utf8');
    return EXPOSURES.flatMap((exposure) => exposure.exec(text)?.[0] ?? []).map((one) => `${path}: ${one}`);
  });
  expect(found).toEqual([]);
});

it.each([
  'curl -u "report:$(cat secret)" http://localhost',
  'curl -H "Authorization: Bearer $TOKEN" http://localhost',
  'curl -d client_secret=x http://localhost',
  'portcullis up --bootstrap-password hunter2',
  'GITHUB_CLIENT_SECRET=x npm start',
  'portcullis up --database postgres://me:hunter2@db/portcullis',
])('recognizes a secret in a command line: %s', (line) => {
  expect(EXPOSURES.some((exposure) => exposure.test(line))).toBe(true);
});
