/** What a source file imports, and whether the import is still there when it runs. */
import { parseSync, Visitor } from 'oxc-parser';

export interface Import {
  /** As written, `'./challenge.ts'` or `'jose'`; undefined for a dynamic import of something computed. */
  readonly specifier: string | undefined;
  /** False for `import type`, `export type` and `import('x').T`, which leave nothing behind. */
  readonly runtime: boolean;
}

/**
 * Every import, re-export, dynamic import and type query of a file. With `verbatimModuleSyntax` the form of
 * the statement decides: `import { type A } from 'x'` still loads `x`.
 */
export function readImports(path: string, text: string): readonly Import[] {
  const { program, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);

  const found: Import[] = [];
  new Visitor({
    ImportDeclaration({ source, importKind }) {
      found.push({ specifier: source.value, runtime: importKind !== 'type' });
    },
    ExportAllDeclaration({ source, exportKind }) {
      found.push({ specifier: source.value, runtime: exportKind !== 'type' });
    },
    ExportNamedDeclaration({ source, exportKind }) {
      if (source) found.push({ specifier: source.value, runtime: exportKind !== 'type' });
    },
    ImportExpression({ source }) {
      const plain = source.type === 'Literal' && typeof source.value === 'string';
      found.push({ specifier: plain ? String(source.value) : undefined, runtime: true });
    },
    TSImportType({ source }) {
      found.push({ specifier: source.value, runtime: false });
    },
  }).visit(program);
  return found;
}
