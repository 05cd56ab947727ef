/** Copies the pages into `.content/`, where VitePress reads them, with the links between them and a page for each file that they name. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { headingsOf, readmeOf, replaceLinks, resolveLink, sourceText } from './links.ts';
import { findPages, root } from './pages.ts';

export const content: string = fileURLToPath(new URL('.content/', import.meta.url));

/** Writes every page. Returns the broken links, each with its file. */
export function writeContent(): readonly string[] {
  rmSync(content, { recursive: true, force: true });
  const pages = findPages();
  const broken: string[] = [];
  const sources = new Set<string>();
  const images = new Set<string>();
  /** A source that a page names becomes a page too. */
  const addressOfSource = (path: string): string => {
    const page = pages.get(path);
    if (page !== undefined) return `/${page}.md`;
    sources.add(path);
    return `/source/${path}.md`;
  };

  for (const [file, address] of pages) {
    const text = readFileSync(`${root}${file}`, 'utf8');
    const replace = (target: string): string | null => {
      const link = resolveLink(file, target);
      if (link === null) return target;
      // Pages of the code host, such as the form for advisories.
      if (link.path.startsWith('..')) return null;
      const path = readmeOf(link.path);
      const page = pages.get(path);
      if (page !== undefined) {
        if (link.hash !== '' && !headingsOf(readFileSync(`${root}${path}`, 'utf8')).has(link.hash))
          broken.push(`${file}: ${target} (no heading of that name)`);
        return `/${page}.md${link.hash && `#${link.hash}`}`;
      }
      if (!existsSync(`${root}${path}`)) {
        broken.push(`${file}: ${target}`);
        return target;
      }
      if (/\.(svg|png)$/.test(path)) {
        images.add(path);
        return `/images/${path}`;
      }
      return addressOfSource(path);
    };
    write(`${address}.md`, `---\neditedFile: ${file}\n---\n\n${replaceLinks(text, replace)}`);
  }
  for (const path of sources) writeSource(path, sourceText(path, addressOfSource));
  for (const path of images) cpSync(`${root}${path}`, `${content}public/images/${path}`);
  cpSync(new URL('public/', import.meta.url), `${content}public`, { recursive: true });
  write('index.md', readFileSync(new URL('index.md', import.meta.url), 'utf8'));
  return broken;
}

function writeSource(path: string, text: string): void {
  const frontMatter = '---\nsearch: false\naside: false\n---';
  write(`source/${path}.md`, `${frontMatter}\n\n# ${path.split('/').at(-1)}\n\n\`${path}\`\n\n${text}\n`);
}

function write(name: string, text: string): void {
  mkdirSync(dirname(`${content}${name}`), { recursive: true });
  writeFileSync(`${content}${name}`, text);
}
