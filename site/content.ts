/** The pages as VitePress reads them: with the links between them, and a page for each file that they name. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { headingsOf, readmeOf, replaceLinks, resolveLink, sourceText } from './links.ts';
import { findPages, root, titleOf } from './pages.ts';

export const content: string = fileURLToPath(new URL('.content/', import.meta.url));

interface Content {
  /** Address below the root of the site → Markdown. */
  readonly pages: ReadonlyMap<string, string>;
  /** Files of the repository. */
  readonly images: ReadonlySet<string>;
  /** Links to what is not there, each with its file. */
  readonly broken: readonly string[];
}

export function readContent(): Content {
  const addresses = findPages();
  const pages = new Map<string, string>();
  const images = new Set<string>();
  const broken: string[] = [];
  const sources = new Set<string>();
  const textOf = (file: string) => readFileSync(`${root}${file}`, 'utf8');
  /** A source that a page names becomes a page too. */
  const addressOf = (path: string): string => {
    const address = addresses.get(path);
    if (address === undefined) sources.add(path);
    return `/${address ?? `source/${path}`}.md`;
  };

  /** Readers of the site know pages by their titles, not by their paths. */
  const labelOf = (file: string, label: string) => {
    const relative = label.endsWith('.md') ? [resolveLink(file, label)?.path ?? label] : [];
    const path = [readmeOf(label), ...relative].find((one) => addresses.has(one));
    return path === undefined ? label : titleOf(path);
  };
  const targetIn = (file: string, target: string): string | null => {
    const link = resolveLink(file, target);
    if (link === null) return target;
    // Pages of the code host, such as the form for advisories.
    if (link.path.startsWith('..')) return null;
    const path = readmeOf(link.path);
    const isMissing = !existsSync(`${root}${path}`);
    const hasHeading = () => link.hash === '' || headingsOf(textOf(path)).has(link.hash);
    if (isMissing || (addresses.has(path) && !hasHeading())) {
      broken.push(`${file}: ${target}`);
      return target;
    }
    if (/\.(svg|png)$/.test(path)) {
      images.add(path);
      return `/images/${path}`;
    }
    return addressOf(path) + (addresses.has(path) && link.hash !== '' ? `#${link.hash}` : '');
  };

  for (const [file, address] of addresses) {
    const text = replaceLinks(textOf(file), ({ target, label }) => {
      const replaced = targetIn(file, target);
      return replaced === null ? null : { target: replaced, label: labelOf(file, label) };
    });
    pages.set(`${address}.md`, text);
  }
  // Grows while it is read: a folder names its files.
  for (const path of sources) pages.set(`source/${path}.md`, sourcePage(path, sourceText(path, addressOf)));
  return { pages, images, broken };
}

function sourcePage(path: string, text: string): string {
  return `---\nsearch: false\naside: false\n---\n\n# ${path.split('/').at(-1)}\n\n\`${path}\`\n\n${text}\n`;
}

/** Writes `.content/`. */
export function writeContent({ pages, images }: Content): void {
  rmSync(content, { recursive: true, force: true });
  for (const [name, text] of pages) write(name, text);
  for (const path of images) cpSync(`${root}${path}`, `${content}public/images/${path}`);
  cpSync(new URL('public/', import.meta.url), `${content}public`, { recursive: true });
  write('index.md', readFileSync(new URL('index.md', import.meta.url), 'utf8'));
}

function write(name: string, text: string): void {
  mkdirSync(dirname(`${content}${name}`), { recursive: true });
  writeFileSync(`${content}${name}`, text);
}
