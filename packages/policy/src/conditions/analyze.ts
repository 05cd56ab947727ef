/** What an expression reads and costs, by its syntax tree; refuses what could cost more than its inputs. */
import type { ASTNode } from '@marcbachmann/cel-js';
import { foldName } from '../call-arguments.ts';
import {
  childrenOf,
  constantsIn,
  constantText,
  isConstant,
  isNumber,
  memberPath,
  type Path,
  readsAllArguments,
  usesWhole,
} from './syntax-tree.ts';
import { VARIABLES } from './variables.ts';

/** What is known of an expression before it is evaluated. */
export interface Analysis {
  /** Loops in loops: 0 without a loop. Membership in a list that is read is one. */
  readonly nesting: number;
  readonly loops: readonly Loop[];
  /** Paths of variables, by their members: `['call', 'arguments', 'amount']`. */
  readonly paths: readonly Path[];
  /** Names of members of arguments: those that it reads, and texts that it may compare with names. */
  readonly argumentNames: ReadonlySet<string>;
}

/** A macro that evaluates an expression for each element. */
export interface Loop {
  /** The loop around it. */
  readonly outer: Loop | null;
  readonly variable: string;
  /** The number of its constants; or the value whose size bounds its elements, and those of their members together. */
  readonly range: number | Path;
  /** Nodes of the syntax tree that each step evaluates. */
  nodes: number;
  /** Values from outside all loops, each of which each step may read whole. */
  readonly reads: Path[];
}

/** @param at offset into the source */
export type Refuse = (message: string, at: number) => never;

/** Macros that evaluate an expression for each element of a list. */
const LOOPS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'filter', 'map']);

/** Their texts are times and time zones, which the engine parses in more than linear time and not as others do. */
const OF_TIME: ReadonlySet<string> = new Set([
  ...['timestamp', 'duration'],
  ...['getFullYear', 'getMonth', 'getDate', 'getDayOfMonth', 'getDayOfWeek', 'getDayOfYear'],
  ...['getHours', 'getMinutes', 'getSeconds', 'getMilliseconds'],
]);

/** What each step of a loop costs besides its nodes: it may end with an error. */
const STEP_NODES = 5;

/** What reading a time in another time zone costs, in nodes. */
const ZONE_NODES = 100;

/** How often `size` counts as reading its operand: it goes through each character. */
const SIZE_READS = 4;

/** Functions that cost no more than reading their operands. Regular expressions are not among them: a long text could stall them. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...LOOPS,
  ...OF_TIME,
  ...['has', 'size', 'startsWith', 'endsWith', 'contains', 'lowerAscii', 'upperAscii', 'trim'],
  ...['int', 'uint', 'double', 'string', 'bool', 'type', 'dyn'],
]);

/** Macros that return a list, whose elements may be names of members. */
const OF_LISTS: ReadonlySet<string> = new Set(['filter', 'map']);

/** Variables that are always objects, so that each name is there once. */
const OBJECTS: readonly string[] = ['call.arguments', 'user.claims'];

interface Scope {
  /** Variables of the loops around a node that are over arguments, or over constants. */
  readonly bound: ReadonlySet<string>;
  readonly depth: number;
  readonly loop: Loop | null;
  /** Whether a text here may be compared with names of members of arguments. */
  readonly comparesNames: boolean;
}

interface Findings {
  nesting: number;
  readonly loops: Loop[];
  readonly paths: Path[];
  readonly argumentNames: Set<string>;
  readonly texts: Set<string>;
  /** Those of them that may be compared with names. */
  readonly compared: Set<string>;
  /** Whether there may be lists of names, which any part of the expression may compare. */
  listsNames: boolean;
  readonly refuse: Refuse;
}

export function analyze(root: ASTNode, refuse: Refuse): Analysis {
  const [argumentNames, texts, compared] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const found = { nesting: 0, loops: [], paths: [], argumentNames, texts, compared, listsNames: false };
  const findings: Findings = { ...found, refuse };
  visit(root, { bound: new Set(), depth: 0, loop: null, comparesNames: false }, findings);
  const folded = new Set([...argumentNames].map(foldName));
  const others = [...(findings.listsNames ? texts : compared)].filter((text) => !folded.has(foldName(text)));
  return { ...findings, argumentNames: new Set([...argumentNames, ...others]) };
}

function visit(node: ASTNode, scope: Scope, findings: Findings): void {
  findings.nesting = Math.max(findings.nesting, scope.depth);
  const path = memberPath(node);
  if (path !== null) {
    readPath(path, scope, findings);
    countReads(path, 1, scope);
    return;
  }
  countNodes(1, scope);
  const constant = constantText(node);
  if (constant !== null) {
    findings.texts.add(constant);
    if (scope.comparesNames) findings.compared.add(constant);
  }
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
    case 'map':
      // It may be compared with arguments.
      visitEntries(node, { ...scope, comparesNames: true }, scope, findings);
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
  // Only the key is compared with the names of a map that is written here.
  if (object.op === 'map') visitEntries(object, scope, scope, findings);
  else visitIndexed(object, key, scope, findings);
  visit(key, scope, findings);
}

/** The steps of a loop over the names of an object read each of its members once. Other arguments may be lists with equal elements. */
function visitIndexed(object: ASTNode, key: ASTNode, scope: Scope, findings: Findings): void {
  const name = memberPath(object)?.join('.') ?? '';
  const over = key.op === 'id' && OBJECTS.includes(name) ? loopOf(key.args, scope) : null;
  if (typeof over?.range === 'object' && over.range.join('.') === name) visitUnread(object, scope, findings);
  else visit(object, scope, findings);
}

/** For paths whose values the engine does not read whole. */
function visitUnread(node: ASTNode, scope: Scope, findings: Findings): void {
  const path = memberPath(node);
  if (path === null) visit(node, scope, findings);
  else readPath(path, scope, findings);
}

function visitEntries(
  node: ASTNode & { readonly op: 'map' },
  ofKeys: Scope,
  ofValues: Scope,
  findings: Findings,
): void {
  for (const [key, value] of node.args) {
    visit(key, ofKeys, findings);
    visit(value, ofValues, findings);
  }
}

function checkKey(key: ASTNode, { bound }: Scope, { refuse }: Findings): void {
  const isOfLoop = key.op === 'id' && bound.has(key.args);
  if (constantText(key) === null && !isNumber(key) && !isOfLoop)
    refuse(
      'members of the arguments are named by a constant text or by the variable of a loop over them or over constants',
      key.start,
    );
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
  if (name === 'contains' && operands.slice(1).some((one) => readsInput(one, scope) || readsCall(one)))
    findings.refuse('contains cannot search for a text of the call', node.start);
  if (OF_TIME.has(name)) {
    visitTime(node, scope, findings);
    return;
  }
  const visitOperand = name === 'has' ? visitUnread : visit;
  for (const operand of operands) {
    visitOperand(operand, scope, findings);
    if (name === 'size') countReads(memberPath(operand), SIZE_READS - 1, scope);
  }
}

/** Texts of times, durations and time zones are those of the condition. */
function visitTime(node: Call, scope: Scope, findings: Findings): void {
  const [name] = node.args;
  if (node.op === 'rcall') visit(node.args[1], scope, findings);
  for (const operand of node.op === 'call' ? node.args[1] : node.args[2]) {
    countNodes(node.op === 'rcall' ? ZONE_NODES : 1, scope);
    if (constantText(operand) !== null) continue;
    if (name !== 'timestamp' || !isNumber(operand))
      findings.refuse(`${name} reads only a text that the condition writes`, operand.start);
    visit(operand, scope, findings);
  }
}

/** Loops over lists that exist, so that none is longer than what was read. */
function visitLoop(node: Call & { readonly op: 'rcall' }, scope: Scope, findings: Findings): void {
  const { refuse } = findings;
  const [name, range, [variable, ...bodies]] = node.args;
  const path = memberPath(range);
  if (path === null && !isConstant(range))
    refuse(`${name} needs a list of a variable, or a list of constants`, node.start);
  // The library has checked that it is a name.
  const own = variable?.op === 'id' ? variable.args : '';
  if (Object.hasOwn(VARIABLES, own)) refuse(`${own} is a variable of conditions`, node.start);
  const hasNames = readsInput(range, scope);
  if (hasNames && OF_LISTS.has(name)) findings.listsNames = true;
  // The variable may name a member where it is a text that is written here.
  visitUnread(range, isConstant(range) ? { ...scope, comparesNames: true } : scope, findings);
  const bound = new Set(scope.bound);
  if (hasNames || isConstant(range)) bound.add(own);
  else bound.delete(own);
  const loop = {
    outer: scope.loop,
    variable: own,
    range: rangeOf(range, path, scope),
    nodes: STEP_NODES,
    reads: [],
  };
  findings.loops.push(loop);
  const inner: Scope = {
    bound,
    depth: scope.depth + 1,
    loop,
    comparesNames: scope.comparesNames || (hasNames && bodies.some((body) => usesWhole(body, own))),
  };
  for (const body of bodies) visit(body, inner, findings);
}

function rangeOf(range: ASTNode, path: Path | null, scope: Scope): number | Path {
  if (path === null) return constantsIn(range);
  return loopOf(path[0] ?? '', scope)?.range ?? path;
}

/** The loop of a variable. */
function loopOf(variable: string, { loop }: Pick<Scope, 'loop'>): Loop | null {
  return loop === null || loop.variable === variable ? loop : loopOf(variable, { loop: loop.outer });
}

/** Membership in a list that is read is a loop, too. */
function visitIn(node: ASTNode & { readonly op: 'in' }, scope: Scope, findings: Findings): void {
  const [element, list] = node.args;
  const inner = isConstant(list) ? scope : { ...scope, depth: scope.depth + 1 };
  if (readsAllArguments(list)) checkKey(element, scope, findings);
  const comparesNames = scope.comparesNames || readsInput(list, scope);
  visit(element, { ...scope, comparesNames }, findings);
  if (list.op === 'map') visitEntries(list, inner, inner, findings);
  else visit(list, inner, findings);
}

function readPath(path: Path, scope: Scope, findings: Findings): void {
  const [root = '', second] = path;
  const { bound } = scope;
  countNodes(path.length, scope);
  if (bound.has(root)) {
    for (const name of path.slice(1)) findings.argumentNames.add(name);
    return;
  }
  // Other names are those of types.
  if (Object.hasOwn(VARIABLES, root)) findings.paths.push(path);
  if (root === 'call' && second === 'arguments')
    for (const name of path.slice(2)) findings.argumentNames.add(name);
}

function countNodes(nodes: number, { loop }: Scope): void {
  if (loop !== null) loop.nodes += nodes;
}

/** Values of loop variables count by the ranges of their loops. */
function countReads(path: Path | null, times: number, { loop, bound }: Scope): void {
  const root = path?.[0] ?? '';
  if (path === null || loop === null || bound.has(root) || !Object.hasOwn(VARIABLES, root)) return;
  loop.reads.push(...Array.from({ length: times }, () => path));
}

/** Whether an expression reads what the caller writes, other than by a loop. */
function readsCall(node: ASTNode): boolean {
  const path = memberPath(node);
  return path === null ? childrenOf(node).some(readsCall) : path[0] === 'call';
}

/** Whether an expression reads arguments, or what may be an element of them. */
function readsInput(node: ASTNode, { bound }: Pick<Scope, 'bound'>): boolean {
  const path = memberPath(node);
  if (path !== null) {
    const [root = '', second = 'arguments'] = path;
    return bound.has(root) || (root === 'call' && second === 'arguments');
  }
  return childrenOf(node).some((child) => readsInput(child, { bound }));
}
