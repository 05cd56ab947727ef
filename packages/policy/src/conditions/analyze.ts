/** What an expression reads and costs, by its syntax tree; refuses what could cost more than its inputs. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { foldName } from '../call-arguments.ts';
import { VARIABLES } from './variables.ts';

/** What is known of an expression before it is evaluated. */
export interface Analysis {
  /** Nodes of the syntax tree. */
  readonly nodes: number;
  /** Loops in loops: 0 without a loop. */
  readonly nesting: number;
  /** Paths of variables, by their members: `['call', 'arguments', 'amount']`. */
  readonly paths: readonly Path[];
  /** What the expression may take for names of members of arguments: every name and text in it that is not known to be of something else. */
  readonly argumentNames: ReadonlySet<string>;
}

/** A variable and its members. */
export type Path = readonly string[];

/** @param at offset into the source */
export type Refuse = (message: string, at: number) => never;

/** Macros that evaluate an expression for each element of a list. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/** Their texts are times and time zones. */
const OF_TIME: ReadonlySet<string> = new Set([
  ...['timestamp', 'duration'],
  ...['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear'],
  ...['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'],
]);

/** Functions that cost no more than reading their operands. Regular expressions are not among them: a long text could stall them. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...LOOPS,
  ...OF_TIME,
  ...['has', 'size', 'startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['int', 'uint', 'double', 'string', 'bool', 'type', 'dyn'],
]);

interface Scope {
  /** Variables of the loops around a node. */
  readonly bound: ReadonlySet<string>;
  readonly depth: number;
}

interface Findings {
  nodes: number;
  nesting: number;
  readonly paths: Path[];
  readonly argumentNames: Set<string>;
  /** Texts. A loop may compare them with names. */
  readonly constants: Set<string>;
  readonly refuse: Refuse;
}

export function analyze(root: ASTNode, refuse: Refuse): Analysis {
  const [argumentNames, constants] = [new Set<string>(), new Set<string>()];
  const findings: Findings = { nodes: 0, nesting: 0, paths: [], argumentNames, constants, refuse };
  visit(root, { bound: new Set(), depth: 0 }, findings);
  const folded = new Set([...argumentNames].map(foldName));
  const others = [...constants].filter((text) => !folded.has(foldName(text)));
  return { ...findings, argumentNames: new Set([...argumentNames, ...others]) };
}

function visit(node: ASTNode, scope: Scope, findings: Findings): void {
  findings.nodes += 1;
  findings.nesting = Math.max(findings.nesting, scope.depth);
  const path = pathOf(node);
  if (path !== null) {
    readPath(path, scope, findings);
    return;
  }
  const constant = constantText(node);
  if (constant !== null) findings.constants.add(constant);
  switch (node.op) {
    case '.':
      findings.argumentNames.add(node.args[1]);
      visit(node.args[0], scope, findings);
      return;
    case '[]':
      visitIndex(node, scope, findings);
      return;
    case 'call':
    case 'rcall':
      visitCall(node, scope, findings);
      return;
    case 'in':
      visitIn(node, scope, findings);
      return;
    default:
      for (const child of childrenOf(node)) visit(child, scope, findings);
  }
}

/** The name of a member has to be known before the arguments are. */
function visitIndex(node: ASTNode & { readonly op: '[]' }, scope: Scope, findings: Findings): void {
  const [object, key] = node.args;
  if (readsInput(object, scope)) checkKey(key, scope, findings);
  const name = constantText(key);
  if (name !== null) findings.argumentNames.add(name);
  visit(object, scope, findings);
  visit(key, scope, findings);
}

function checkKey(key: ASTNode, { bound }: Scope, { refuse }: Findings): void {
  const isOfLoop = key.op === 'id' && bound.has(key.args);
  if (constantText(key) === null && !isNumber(key) && !isOfLoop)
    refuse('members of the arguments are named by a constant text or by the variable of a loop', key.start);
}

type Call = ASTNode & { readonly op: 'call' | 'rcall' };

function visitCall(node: Call, scope: Scope, findings: Findings): void {
  const [name] = node.args;
  if (!FUNCTIONS.has(name)) findings.refuse(`${name} is not available in conditions`, node.start);
  if (node.op === 'rcall' && LOOPS.has(name)) {
    visitLoop(node, scope, findings);
    return;
  }
  const operands = node.op === 'call' ? node.args[1] : [node.args[1], ...node.args[2]];
  if (name === 'contains' && operands.slice(1).some((one) => readsInput(one, scope)))
    findings.refuse('contains cannot search for a text of the arguments', node.start);
  for (const operand of operands) {
    if (OF_TIME.has(name) && constantText(operand) !== null) findings.nodes += 1;
    else visit(operand, scope, findings);
  }
}

/** Loops over lists that exist, so that none is longer than what was read. */
function visitLoop(node: Call & { readonly op: 'rcall' }, scope: Scope, findings: Findings): void {
  const { refuse } = findings;
  const [name, range, [variable, ...bodies]] = node.args;
  if (pathOf(range) === null && !isConstant(range))
    refuse(`${name} needs a list of a variable, or a list of constants`, node.start);
  // The library has checked that it is a name.
  const bound = variable?.op === 'id' ? variable.args : '';
  if (Object.hasOwn(VARIABLES, bound)) refuse(`${bound} is a variable of conditions`, node.start);
  visit(range, scope, findings);
  const inner: Scope = { bound: new Set([...scope.bound, bound]), depth: scope.depth + 1 };
  for (const body of bodies) visit(body, inner, findings);
}

/** Membership in a list that is read is a loop, too. */
function visitIn(node: ASTNode & { readonly op: 'in' }, scope: Scope, findings: Findings): void {
  const [element, list] = node.args;
  const inner = isConstant(list) ? scope : { ...scope, depth: scope.depth + 1 };
  if (pathOf(list)?.join('.') === 'call.arguments') checkKey(element, scope, findings);
  visit(element, scope, findings);
  visit(list, inner, findings);
}

/** Members of a variable; `null` for any other expression. */
function pathOf(node: ASTNode): Path | null {
  if (node.op === 'id') return [node.args];
  if (node.op === '.') {
    const before = pathOf(node.args[0]);
    return before && [...before, node.args[1]];
  }
  if (node.op !== '[]') return null;
  const [object, key] = node.args;
  const before = pathOf(object);
  const name = constantText(key);
  return before && name !== null ? [...before, name] : null;
}

/** A text, or texts that are joined; `null` for any other expression. */
function constantText(node: ASTNode): string | null {
  if (node.op === 'value') return typeof node.args === 'string' ? node.args : null;
  if (node.op !== '+') return null;
  const [one, other] = [constantText(node.args[0]), constantText(node.args[1])];
  return one === null || other === null ? null : one + other;
}

/** Whether an expression is certainly an index of a list. */
function isNumber(node: ASTNode): boolean {
  if (node.op === 'value') return typeof node.args !== 'string';
  if (node.op === '+') return node.args.some(isNumber);
  if (node.op === 'call' || node.op === 'rcall') return ['size', 'int', 'uint'].includes(node.args[0]);
  return ['-', '*', '/', '%'].includes(node.op);
}

function readPath(path: Path, { bound }: Scope, findings: Findings): void {
  const [root = '', second] = path;
  findings.nodes += path.length - 1;
  if (bound.has(root)) {
    for (const name of path.slice(1)) findings.argumentNames.add(name);
    return;
  }
  // Other names are those of types.
  if (Object.hasOwn(VARIABLES, root)) findings.paths.push(path);
  if (root === 'call' && second === 'arguments')
    for (const name of path.slice(2)) findings.argumentNames.add(name);
}

/** Whether an expression reads arguments, or what may be an element of them. */
function readsInput(node: ASTNode, { bound }: Scope): boolean {
  const path = pathOf(node);
  if (path !== null) {
    const [root = '', second = 'arguments'] = path;
    return bound.has(root) || (root === 'call' && second === 'arguments');
  }
  return childrenOf(node).some((child) => readsInput(child, { bound, depth: 0 }));
}

function isConstant(node: ASTNode): boolean {
  if (node.op === 'value') return true;
  return node.op === 'list' && node.args.every(isConstant);
}

/** The expressions in a node, whatever its operator is. */
function childrenOf({ op, args }: ASTNode): readonly ASTNode[] {
  if (op === 'value' || op === 'id') return [];
  return ([args] as unknown[]).flat(3).filter((one) => typeof one === 'object' && one !== null) as ASTNode[];
}
