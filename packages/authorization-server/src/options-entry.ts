/** The options schema, for programs that configure a server: validation, documentation, help texts, JSON Schema. */
export { createRedirectPolicy } from './clients/known-hosts.ts';
export {
  boolean,
  checkedText,
  createOptionReport,
  custom,
  duration,
  formatOptionIssue,
  kindOf,
  lazy,
  list,
  type OptionIssue,
  type OptionMeta,
  type OptionReport,
  object,
  oneOf,
  optionMeta,
  readOption,
  secret,
  text,
  union,
  wholeNumber,
} from './option-schema.ts';
export {
  type OptionDefinition,
  type OptionName,
  optionDefinitions,
  type ParsedOptions,
  parseOptions,
} from './options-schema.ts';
export { MORE_RESOURCES } from './resource-options.ts';
export { applyRules, type RuledOptions } from './validate-options.ts';
