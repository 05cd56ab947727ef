/** Puts a probe at every branch of our sources as they are loaded: `node --import` this. Parsed by oxc, changed by position. */
import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import './coverage.ts';

const OURS = /\/packages\/(?:protocol|http|authorization-server|gateway)\/src\/.*\.ts$/;

registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !OURS.test(url)) return next(url, context);
    const source = stripTypeScriptTypes(readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', shortCircuit: true, source: instrument(source, url) };
  },
});

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

type Insertion = readonly [position: number, order: number, text: string];

let places = 0;

/** A number that is spread over all bits, so that edges between neighbours differ. */
function newProbe(): string {
  places += 1;
  return `__probe(${Math.imul(places, 0x9e3779b1) >>> 8})`;
}

function instrument(source: string, url: string): string {
  const { program, errors } = parseSync(url.replace(/\.ts$/, '.js'), source);
  if (errors.length > 0) throw new Error(`${url}: ${errors[0]?.message}`);
  const insertions: Insertion[] = [];
  walk(program as unknown as Node, (node) => insertions.push(...probesOf(node)));
  insertions.sort(([a, first], [b, second]) => a - b || first - second);
  let text = '';
  let from = 0;
  for (const [position, , inserted] of insertions) {
    text += source.slice(from, position) + inserted;
    from = position;
  }
  return text + source.slice(from);
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) if (isNode(child)) walk(child, visit);
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/** Where a node begins a way of its own. */
function probesOf(node: Node): readonly Insertion[] {
  const of = (member: string) => (isNode(node[member]) ? [node[member]] : []);
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ForStatement':
    case 'ForOfStatement':
    case 'ForInStatement':
    case 'WhileStatement':
      return of('body').flatMap(inStatement);
    case 'ArrowFunctionExpression':
      return of('body').flatMap((body) =>
        body.type === 'BlockStatement' ? inStatement(body) : inExpression(body),
      );
    case 'CatchClause':
      return of('body').flatMap(inStatement);
    case 'IfStatement':
      return [...of('consequent'), ...of('alternate')].flatMap(inStatement);
    case 'SwitchCase': {
      const [first] = node['consequent'] as readonly Node[];
      return first === undefined ? [] : [[first.start, 0, `${newProbe()};`]];
    }
    case 'ConditionalExpression':
      return [...of('consequent'), ...of('alternate')].flatMap(inExpression);
    case 'LogicalExpression':
      return of('right').flatMap(inExpression);
    default:
      return [];
  }
}

function inStatement(node: Node): readonly Insertion[] {
  if (node.type === 'BlockStatement') return [[node.start + 1, 0, `${newProbe()};`]];
  // Of `else if` the inner statement has probes of its own.
  if (node.type === 'IfStatement') return [];
  return [
    [node.start, -node.end, `{${newProbe()};`],
    [node.end, node.end, '}'],
  ];
}

/** Outer ones open first and close last. */
function inExpression(node: Node): readonly Insertion[] {
  return [
    [node.start, -node.end, `(${newProbe()},`],
    [node.end, -node.start, ')'],
  ];
}
