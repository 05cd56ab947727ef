/** What expressions are, by their syntax trees: paths of variables, constants, and uses of variables. */
import type { ASTNode } from '@marcbachmann/cel-js';

/** A variable and its members. */
export type Path = readonly string[];

/** Members of a variable; `null` for any other expression. */
export function memberPath(node: ASTNode): Path | null {
  if (node.op === 'id') return [node.args];
  if (node.op === '.') {
    const before = memberPath(node.args[0]);
    return before && [...before, node.args[1]];
  }
  if (node.op !== '[]') return null;
  const [object, key] = node.args;
  const before = memberPath(object);
  const name = constantText(key);
  return before && name !== null ? [...before, name] : null;
}

/** A text, or texts that are joined; `null` for any other expression. */
export function constantText(node: ASTNode): string | null {
  if (node.op === 'value') return typeof node.args === 'string' ? node.args : null;
  if (node.op !== '+') return null;
  const [one, other] = [constantText(node.args[0]), constantText(node.args[1])];
  return one === null || other === null ? null : one + other;
}

/** Whether an expression is certainly an index of a list. */
export function isNumber(node: ASTNode): boolean {
  if (node.op === 'value') return typeof node.args !== 'string';
  if (node.op === '+') return node.args.some(isNumber);
  if (node.op === 'call' || node.op === 'rcall') return ['size', 'int', 'uint'].includes(node.args[0]);
  return ['-', '*', '/', '%'].includes(node.op);
}

export function isConstant(node: ASTNode): boolean {
  if (node.op === 'value') return true;
  return node.op === 'list' && node.args.every(isConstant);
}

/** The constants of a list, and of lists in it. */
export function constantsIn(node: ASTNode): number {
  return node.op === 'list' ? node.args.reduce((sum, one) => sum + constantsIn(one), 0) : 1;
}

/** Whether an expression uses a variable of a loop other than by its members. */
export function usesWhole(node: ASTNode, variable: string): boolean {
  const path = memberPath(node);
  if (path === null) return childrenOf(node).some((child) => usesWhole(child, variable));
  return path.length === 1 && path[0] === variable;
}

/** Whether the value of an expression may be the arguments as a whole, or hold them. */
export function readsAllArguments(node: ASTNode): boolean {
  const path = memberPath(node);
  if (path === null) return childrenOf(node).some(readsAllArguments);
  return ['call', 'call.arguments'].includes(path.join('.'));
}

/** The expressions in a node, whatever its operator is. */
export function childrenOf({ op, args }: ASTNode): readonly ASTNode[] {
  if (op === 'value' || op === 'id') return [];
  return ([args] as unknown[]).flat(3).filter((one) => typeof one === 'object' && one !== null) as ASTNode[];
}
