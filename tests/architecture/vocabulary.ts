/** Reads the glossary, and finds words in sources and documents that it replaces. */

/** A row of the glossary. */
export interface GlossaryTerm {
  readonly word: string;
  /** Exported names that the row points to. */
  readonly types: readonly string[];
  /** Words that are not used, in lower case. */
  readonly replaced: readonly string[];
}

/** The rows of all tables of the glossary. */
export function readGlossary(page: string): readonly GlossaryTerm[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| word |'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, word = '', , , types = '', replaced = '']) => ({
      word,
      types: quoted(types),
      replaced: quoted(replaced),
    }));
}

function quoted(cell: string): readonly string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);
}

/**
 * Lines of a text that contain one of the words, also as a part of a camelCase or kebab-case name.
 * @param words in lower case
 */
export function findWords(
  text: string,
  words: ReadonlySet<string>,
): readonly { line: number; word: string }[] {
  return text
    .split('\n')
    .flatMap((content, index) =>
      [...new Set(wordsOf(content))]
        .filter((word) => words.has(word))
        .map((word) => ({ line: index + 1, word })),
    );
}

/** The words of a line: `createRoomsIn` has three, `find_rooms` two. */
export function wordsOf(line: string): readonly string[] {
  return (line.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((word) => word.toLowerCase());
}

const EXPORT =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function|const|class|interface|type|let)\*? (\w+)/gm;

/** Names that a source declares and exports. */
export function exportedNames(source: string): readonly string[] {
  return [...new Set([...source.matchAll(EXPORT)].map(([, name = '']) => name))];
}
