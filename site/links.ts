/** Links between files of the repository become links between pages of the site. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { root } from './pages.ts';

const FENCE = /^(```|~~~)[\s\S]*?^\1[`~]*$/gm;
/** The target of an inline link or image, and what surrounds it. */
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g;

interface Link {
  readonly target: string;
  readonly label: string;
}

/** Replaces each link outside of code. `replace` returns another; `null` leaves the text alone. */
export function replaceLinks(text: string, replace: (link: Link) => Link | null): string {
  let result = '';
  let end = 0;
  const links = (part: string) =>
    part.replace(LINK, (_, image: string, label: string, target: string) => {
      const replaced = replace({ target, label });
      return replaced === null ? label : `${image}[${replaced.label}](${replaced.target})`;
    });
  for (const fence of text.matchAll(FENCE)) {
    result += links(text.slice(end, fence.index)) + fence[0];
    end = fence.index + fence[0].length;
  }
  return result + links(text.slice(end));
}

/** A link of a file, as a path from the root of the repository; `null` for a link to elsewhere. */
export function resolveLink(file: string, target: string): { path: string; hash: string } | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target)) return null;
  const [to = '', hash = ''] = target.split('#', 2);
  const path = to === '' ? file : normalize(join(dirname(file), decodeURI(to))).replace(/\/$/, '');
  return { path, hash };
}

/** What a link to a path shows: a folder its README, if it has one. */
export function readmeOf(path: string): string {
  const readme = path === '.' ? 'README.md' : `${path}/README.md`;
  return isFolder(path) && existsSync(`${root}${readme}`) ? readme : path;
}

export function isFolder(path: string): boolean {
  return existsSync(`${root}${path}`) && statSync(`${root}${path}`).isDirectory();
}

/** The identifiers of the headings of a text, spelled as GitHub spells them. */
export function headingsOf(text: string): ReadonlySet<string> {
  const headings = [...text.replaceAll(FENCE, '').matchAll(/^#{1,6} (.+)$/gm)];
  return new Set(
    headings.map(([, heading = '']) => slugify(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'))),
  );
}

/** @see the rule of GitHub: lower case, no punctuation, a hyphen for each space */
export function slugify(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** A file of the repository as a page: its text, or for a folder links to its files. */
export function sourceText(path: string, addressOf: (file: string) => string): string {
  if (!isFolder(path)) return block(path);
  return globSync('**/*', { cwd: `${root}${path}`, exclude: (name) => /node_modules|dist/.test(name) })
    .filter((name) => !isFolder(`${path}/${name}`))
    .sort()
    .map((name) => `* [${name}](${addressOf(`${path}/${name}`)})`)
    .join('\n');
}

function block(path: string): string {
  const language = path.split('.').at(-1) ?? '';
  return `~~~~~${['ts', 'js', 'json', 'yaml', 'md'].includes(language) ? language : 'txt'}\n${readFileSync(`${root}${path}`, 'utf8')}\n~~~~~`;
}
