/** Which requirements and attacks a test file names: ids in brackets inside its strings, `'[S-401-1 S-401-2] …'`, and numbers, `'T018 …'`. */
import { type CallExpression, type Expression, parseSync, Visitor } from 'oxc-parser';

export interface Citation {
  readonly id: string;
  readonly file: string;
}

const bracketed = /\[([A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+(?:[ ,]+[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)+)*)\]/g;

/** Titles and rows of title tables count alike. A test that never runs (`skip`, `todo`) proves nothing. */
export function readCitations(file: string, text: string): readonly Citation[] {
  return readNames(file, text, bracketed, (value) =>
    [...value.matchAll(bracketed)].flatMap(([, ids = '']) => ids.split(/[ ,]+/)),
  );
}

/** Which attacks a test file names: `'T018 …'`. */
export function readCases(file: string, text: string): readonly Citation[] {
  return readNames(file, text, /T\d{3}/, (value) => value.match(/\bT\d{3}\b/g) ?? []);
}

/** @param names files without a match are not parsed */
function readNames(
  file: string,
  text: string,
  names: RegExp,
  read: (value: string) => readonly string[],
): readonly Citation[] {
  if (text.search(names) < 0) return [];
  const { program, errors } = parseSync(file, text);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);

  const found: Citation[] = [];
  let idle = 0;
  const cite = (value: string) => {
    if (idle === 0) found.push(...read(value).map((id) => ({ id, file })));
  };
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === 'string') cite(value);
    },
    TemplateElement: ({ value }) => cite(value.cooked ?? ''),
    CallExpression: (call) => {
      if (neverRuns(call)) idle += 1;
    },
    'CallExpression:exit': (call) => {
      if (neverRuns(call)) idle -= 1;
    },
  }).visit(program);
  return found;
}

/** `it.skip(…)`, `describe.todo(…)`, also `it.skip.each(…)(…)`. */
function neverRuns({ callee }: CallExpression): boolean {
  if (callee.type === 'CallExpression') return neverRuns(callee);
  let part: Expression = callee;
  while (part.type === 'MemberExpression') {
    if (part.property.type === 'Identifier' && /^(skip|todo)$/.test(part.property.name)) return true;
    part = part.object;
  }
  return false;
}
