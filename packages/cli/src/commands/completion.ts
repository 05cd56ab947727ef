/** `portcullis completion`: shell scripts that complete commands and options. */
import { Argument, type Command } from 'commander';
import type { ProcessContext } from '../process-context.ts';

/** A command with its subcommands and options. */
interface Entry {
  /** The words of the command, such as `users add`; empty for the program. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
}

interface Word {
  readonly name: string;
  readonly summary: string;
}

const scripts: Readonly<Record<string, (entries: readonly Entry[]) => string>> = { bash, zsh, fish };

export function defineCompletion(program: Command, { write }: ProcessContext): void {
  program
    .command('completion')
    .summary('print a script that completes commands in a shell')
    .description(
      [
        'Prints a script that completes commands and options in a shell.',
        '',
        '  bash   portcullis completion bash > ~/.local/share/bash-completion/completions/portcullis',
        '  zsh    portcullis completion zsh > _portcullis, in a folder of fpath',
        '  fish   portcullis completion fish > ~/.config/fish/completions/portcullis.fish',
      ].join('\n'),
    )
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(scripts)))
    .action((shell: string) => write(scripts[shell]?.(entriesOf(program, '')) ?? ''));
}

function entriesOf(command: Command, path: string): readonly Entry[] {
  const below = command.commands.filter((one) => one.name() !== 'help');
  const options = command.options.filter(({ hidden }) => !hidden);
  const own: Entry = {
    path,
    commands: below.map((one) => ({ name: one.name(), summary: one.summary() || one.description() })),
    options: [
      ...options.map(({ long, description }) => ({ name: long ?? '', summary: description })),
      { name: '--help', summary: 'show help' },
    ].filter(({ name }) => name !== ''),
  };
  return [own, ...below.flatMap((one) => entriesOf(one, `${path} ${one.name()}`.trim()))];
}

function paths(entries: readonly Entry[], separator: string): string {
  return entries
    .filter(({ path }) => path !== '')
    .map(({ path }) => quote(path))
    .join(separator);
}

function names({ commands, options }: Entry): string {
  return [...commands, ...options].map(({ name }) => name).join(' ');
}

function bash(entries: readonly Entry[]): string {
  return `# portcullis completion for bash
_portcullis() {
  local current=\${COMP_WORDS[COMP_CWORD]} path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in ${paths(entries, '|')}) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${entries.map((entry) => `    ${quote(entry.path)}) words=${quote(names(entry))} ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _portcullis portcullis
`;
}

function zsh(entries: readonly Entry[]): string {
  const described = ({ commands, options }: Entry) =>
    [...commands, ...options]
      .map(({ name, summary }) => quote(`${name}:${firstLine(summary).replaceAll(':', '\\:')}`))
      .join(' ');
  return `#compdef portcullis
# portcullis completion for zsh
_portcullis() {
  local path_so_far='' word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${path_so_far:+$path_so_far }$word" in (${paths(entries, '|')}) path_so_far="\${path_so_far:+$path_so_far }$word" ;; esac
  done
  case "$path_so_far" in
${entries.map((entry) => `    (${quote(entry.path)}) candidates=(${described(entry)}) ;;`).join('\n')}
  esac
  _describe 'portcullis' candidates || _files
}
_portcullis "$@"
`;
}

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ path, commands, options }) => {
    const here = `-n ${quote(`__portcullis_at ${quote(path).replaceAll("'", '"')}`)}`;
    return [
      ...commands.map(
        ({ name, summary }) => `complete -c portcullis ${here} -f -a ${name} -d ${quote(firstLine(summary))}`,
      ),
      ...options.map(
        ({ name, summary }) =>
          `complete -c portcullis ${here} -l ${name.replace(/^--/, '')} -d ${quote(firstLine(summary))}`,
      ),
    ];
  });
  return `# portcullis completion for fish
function __portcullis_at
  set -l path
  for word in (commandline -opc)[2..]
    set -l candidate (string join ' ' $path $word)
    contains -- "$candidate" ${paths(entries, ' ')}; and set path $path $word
  end
  test (string join ' ' $path) = "$argv[1]"
end
${lines.join('\n')}
`;
}

/** Single-quoted: all three shells treat the content literally. */
function quote(text: string): string {
  return `'${text.replaceAll('\\', ' ').replaceAll("'", '’')}'`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
