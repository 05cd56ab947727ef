/** The fenced blocks of every document that users and contributors read. */
import { globSync, readFileSync } from 'node:fs';

export interface Block {
  /** Counted in its document, from 1. */
  readonly number: number;
  readonly language: string;
  /** Without the indentation of its fence. */
  readonly text: string;
}

interface Document {
  readonly file: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

const FILES = ['*.md', 'docs/**/*.md', 'bench/*.md', 'deploy/**/*.md', 'packages/*/README.md'];

/** All Markdown of the repository, but the history of the packages. */
export function readDocuments(root: string): readonly Document[] {
  return globSync([...FILES, 'examples/*/README.md'], { cwd: root })
    .sort()
    .map((file) => {
      const text = readFileSync(`${root}/${file}`, 'utf8');
      return { file, text, blocks: blocksOf(text) };
    });
}

function blocksOf(text: string): readonly Block[] {
  const fences = text.matchAll(/^( *)```(.*)\n([\s\S]*?)^\1```$/gm);
  return [...fences].map(([, indent = '', language = '', lines = ''], index) => ({
    number: index + 1,
    language,
    text: lines.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}
