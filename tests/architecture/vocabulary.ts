/** Reads the glossary, and finds words in sources and documents that it replaces. */
import { parseSync, Visitor } from 'oxc-parser';

/** A row of the glossary. */
export interface GlossaryTerm {
  readonly word: string;
  /** Exported names that the row points to. */
  readonly types: readonly string[];
  /** Words that are not used, in lower case. */
  readonly replaced: readonly string[];
  /** Words that are not part of an identifier or a file name of a package, in lower case; elsewhere they are ordinary English. */
  readonly replacedInNames: readonly string[];
}

/** The rows of all tables of the glossary. */
export function readGlossary(page: string): readonly GlossaryTerm[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| word |'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, word = '', , , types = '', insteadOf = '']) => {
      const [everywhere = '', inNames = ''] = insteadOf.split('in names:');
      return {
        word,
        types: quoted(types),
        replaced: quoted(everywhere),
        replacedInNames: quoted(inNames),
      };
    });
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

/**
 * Identifiers of a source that have one of the words as a part. Comments, strings and members of globals, such as
 * `Math.round`, are not looked at.
 * @param words in lower case
 */
export function findNames(
  path: string,
  text: string,
  words: ReadonlySet<string>,
): readonly { line: number; name: string }[] {
  // Parsing is slow: a text without any of the words is skipped.
  if (!wordsOf(text).some((word) => words.has(word))) return [];
  const found = new Map<string, number>();
  const visit = ({ name, start }: { name: string; start: number }) => {
    if (found.has(name) || text.slice(start - 5, start) === 'Math.') return;
    if (wordsOf(name).some((word) => words.has(word))) found.set(name, start);
  };
  new Visitor({ Identifier: visit, PrivateIdentifier: visit }).visit(parseSync(path, text).program);
  return [...found].map(([name, start]) => ({ line: text.slice(0, start).split('\n').length, name }));
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

const ERROR_NAME =
  /^(?:export )?(?:abstract )?class (\w+) extends \w+ \{[^}]*?\bname(?:: string)? = '(\w+)'/gm;

/** The value of `name` that each class of errors in a source declares. */
export function errorNames(source: string): readonly { readonly className: string; readonly name: string }[] {
  return [...source.matchAll(ERROR_NAME)].map(([, className = '', name = '']) => ({ className, name }));
}
