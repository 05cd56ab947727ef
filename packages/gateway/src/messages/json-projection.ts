/** Parts of a JSON document that a reader asks for by their shape, with where they are. */
import { isDisguised } from '@portcullis/protocol';

/** What is wanted of a value. Empty: only its type and range. */
export interface JsonShape {
  /** Its text, decoded, if it is a string, number or literal. */
  readonly text?: true;
  /** What is wanted of the members of an object. */
  readonly members?: JsonMembers;
  /** What is wanted of each element of an array. */
  readonly elements?: JsonShape;
}

interface JsonMembers {
  readonly byName: ReadonlyMap<string, JsonShape>;
  /** The names, by what they are without case. */
  readonly folded: ReadonlyMap<string, string>;
}

/** A value that was wanted. Offsets are bytes of the document. */
export interface JsonNode {
  readonly type: 'object' | 'array' | 'string' | 'scalar';
  readonly start: number;
  readonly end: number;
  /** The value of a string, or the JSON text of a number or literal; empty when it was not wanted. */
  readonly text: string;
  readonly members: ReadonlyMap<string, JsonNode>;
  readonly elements: readonly JsonNode[];
  /** Wanted names that also occur in other case: parsers that ignore case take one for the other. */
  readonly variants: ReadonlySet<string>;
}

/** A container whose end is not there yet. */
export interface OpenNode {
  readonly type: 'object' | 'array';
  readonly start: number;
  end: number;
  readonly text: '';
  members: Map<string, JsonNode>;
  elements: JsonNode[];
  variants: Set<string>;
}

/** An object shape from its members. */
export function shapeOf(members: Readonly<Record<string, JsonShape>>): JsonShape {
  const byName = new Map(Object.entries(members));
  return { members: { byName, folded: new Map([...byName.keys()].map((name) => [fold(name), name])) } };
}

/** Shared, and never changed: most containers stay empty, because only their range is wanted. */
const NO_MEMBERS = new Map<string, JsonNode>();
const NO_ELEMENTS: JsonNode[] = [];
const NO_VARIANTS = new Set<string>();

export function createLeaf(type: 'string' | 'scalar', start: number, end: number, text: string): JsonNode {
  return { type, start, end, text, members: NO_MEMBERS, elements: NO_ELEMENTS, variants: NO_VARIANTS };
}

export function createContainer(type: 'object' | 'array', start: number): OpenNode {
  return {
    type,
    start,
    end: -1,
    text: '',
    members: NO_MEMBERS,
    elements: NO_ELEMENTS,
    variants: NO_VARIANTS,
  };
}

function addMember(container: OpenNode, name: string, node: JsonNode): void {
  if (container.members === NO_MEMBERS) container.members = new Map();
  container.members.set(name, node);
}

function addElement(container: OpenNode, node: JsonNode): void {
  if (container.elements === NO_ELEMENTS) container.elements = [];
  container.elements.push(node);
}

/** What a parser that ignores case takes a name for; also where case folding is not ASCII, as for the long s and the Kelvin sign. */
export function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** A container whose members or elements are wanted, or only its range. */
interface Frame {
  readonly shape: JsonShape;
  readonly node: OpenNode;
  /** The wanted member whose value follows. */
  name: string;
  next: JsonShape | null;
}

/** Collects what a shape asks for while a scanner moves through a document. Depths count the open containers. */
export class JsonProjection {
  readonly #shape: JsonShape;
  readonly #maxElements: number;
  /** Of the outermost containers: what a frame does not ask for has none, nor has anything inside it. */
  readonly #frames: Frame[] = [];
  root: JsonNode | null = null;
  /** Counts what became known of the wanted parts. */
  changes = 0;

  constructor(shape: JsonShape, maxElements: number) {
    this.#shape = shape;
    this.#maxElements = maxElements;
  }

  /** What is wanted of the value that begins. */
  wanted(depth: number): JsonShape | null {
    if (depth === 0) return this.#shape;
    const frame = this.#frame(depth);
    if (frame === null) return null;
    return frame.node.type === 'object' ? frame.next : (frame.shape.elements ?? null);
  }

  open(type: 'object' | 'array', shape: JsonShape, start: number): void {
    const node = createContainer(type, start);
    this.attach(node);
    this.#frames.push({ shape, node, name: '', next: null });
  }

  close(depth: number, end: number): void {
    const frame = this.#frame(depth);
    if (frame === null) return;
    frame.node.end = end;
    this.#frames.pop();
    this.changes += 1;
  }

  /** Whether nothing directly inside the innermost container is wanted. */
  isBeside(depth: number): boolean {
    if (this.#frames.length < depth) return true;
    const shape = this.#frames.at(-1)?.shape;
    return shape !== undefined && shape.members === undefined && shape.elements === undefined;
  }

  /** Adds a value that is wanted to its container. */
  attach(node: JsonNode): void {
    this.changes += 1;
    const frame = this.#frames.at(-1);
    if (frame === undefined) this.root = node;
    else if (frame.node.type === 'object') addMember(frame.node, frame.name, node);
    else if (frame.node.elements.length >= this.#maxElements)
      throw new SyntaxError(`a list has more than ${this.#maxElements} elements`);
    else addElement(frame.node, node);
  }

  /** @returns whether the name matters */
  startName(depth: number): boolean {
    const frame = this.#frame(depth);
    if (frame === null) return false;
    frame.next = null;
    return frame.shape.members !== undefined;
  }

  /** Remembers which member follows. @param written with quotes and escapes */
  endName(name: string, written: string): void {
    const frame = this.#frames.at(-1);
    const members = frame?.shape.members;
    if (frame === undefined || members === undefined) return;
    const shape = members.byName.get(name);
    if (shape === undefined) {
      const variant = members.folded.get(fold(name));
      // Once, however often it is written.
      if (variant === undefined || frame.node.variants.has(variant)) return;
      if (frame.node.variants === NO_VARIANTS) frame.node.variants = new Set();
      frame.node.variants.add(variant);
      this.changes += 1;
      return;
    }
    if (frame.node.members.has(name)) throw new SyntaxError(`it repeats the member ${name}`);
    if (isDisguised(written)) throw new SyntaxError(`it disguises the member ${name}`);
    frame.name = name;
    frame.next = shape;
  }

  #frame(depth: number): Frame | null {
    return this.#frames.length === depth ? (this.#frames.at(-1) ?? null) : null;
  }
}
