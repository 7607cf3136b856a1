"""Scripts that complete commands, for three shells. They contain all words, so that a shell need not start Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ..records import dataclass

__all__ = ["SCRIPTS", "Argument", "Command"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An option or a positional argument of a command."""

    flags: tuple[str, ...]
    """Empty for a positional argument."""
    help: str
    takes: bool
    """True if a value follows."""
    many: bool
    """True for a positional argument that may be repeated."""
    words: tuple[str, ...] = ()
    """Words that the value may be."""
    files: bool = False
    """True if the value may be the name of a file."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its name, its help, and its arguments."""

    name: str
    help: str
    arguments: tuple[Argument, ...]

    @property
    def options(self) -> list[Argument]:
        """The options."""
        return [x for x in self.arguments if x.flags]

    @property
    def positional(self) -> list[Argument]:
        """The positional arguments, in order."""
        return [x for x in self.arguments if not x.flags]


# bash ----------------------------------------------------------------------------------------------------------------

_BASH = r"""# completion of ordern for bash: eval "$(ordern completion bash)"
_ordern() {
    local IFS=$'\n' cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
    local command="" place=-1 i word skip=0 words="" files=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if ((skip)); then skip=0; continue; fi
        case "$word" in
            -?*) case "$command:$word" in
@TAKING@
                    skip=1 ;;
                esac ;;
            *) if [[ -z $command ]]; then command="$word"; fi; place=$((place + 1)) ;;
        esac
    done
    if ((place < 0)); then
        words=@COMMANDS@
    elif ((skip)); then
        case "$command:$prev" in
@VALUES@
        esac
    elif [[ $cur == -* ]]; then
        case "$command" in
@OPTIONS@
        esac
    else
        case "$command:$place" in
@PLACES@
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if ((files)); then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -f -- "$cur"))
    fi
}
complete -F _ordern ordern
"""


def _bash(commands: Sequence[Command]) -> str:
    taking = [f"{c.name}:{flag}" for c in commands for x in c.options if x.takes for flag in x.flags]
    values, options, places = [], [], []
    for c in commands:
        for x in c.options:
            if x.takes and (x.words or x.files):
                pattern = " | ".join(f"{c.name}:{flag}" for flag in x.flags)
                values.append(f"            {pattern}) {_bash_value(x)} ;;")
        options.append(f"            {c.name}) words={_bash_words(f for x in c.options for f in x.flags)} ;;")
        for k, x in enumerate(c.positional):
            if x.words or x.files:
                places.append(f"            {c.name}:{'*' if x.many else k}) {_bash_value(x)} ;;")
    return _filled(
        _BASH,
        TAKING=f"                {' | '.join(taking)})",
        COMMANDS=_bash_words([*(c.name for c in commands), "--help", "--version"]),
        VALUES="\n".join(values),
        OPTIONS="\n".join(options),
        PLACES="\n".join(places),
    )


def _bash_value(x: Argument) -> str:
    return f"words={_bash_words(x.words)}; files={int(x.files)}"


def _bash_words(words: Iterator[str] | Sequence[str]) -> str:
    """Return words as a quoted string with one word per line, which is how `compgen -W` splits it here."""
    return "$'" + "\\n".join(words) + "'"


# zsh -----------------------------------------------------------------------------------------------------------------

_ZSH = r"""#compdef ordern
# completion of ordern for zsh: eval "$(ordern completion zsh)", after compinit
_ordern() {
    local state line context
    typeset -A opt_args
    _arguments -C '(- *)'{-h,--help}'[show the help]' '(- *)--version[show the version]' \
        '1:command:->command' '*::argument:->argument' && return
    if [[ $state == command ]]; then
        local -a commands=(
@COMMANDS@
        )
        _describe command commands
        return
    fi
    case "$line[1]" in
@CASES@
    esac
}
_ordern_robots() {
    _alternative 'robots:robot:(@ROBOTS@)' 'files:file:_files'
}
if [[ $funcstack[1] == _ordern ]]; then _ordern "$@"; else compdef _ordern ordern; fi
"""


def _zsh(commands: Sequence[Command]) -> str:
    listed = (f"            {_quoted(f'{c.name}:{c.help}')}" for c in commands)
    cases = []
    for c in commands:
        specs = [spec for x in c.options for spec in _zsh_option(x)]
        for k, x in enumerate(c.positional):
            specs.append(_quoted(f"{'*' if x.many else k + 1}:{_zsh_text(x.help)}:{_zsh_value(x)}"))
        joined = " \\\n                ".join(specs)
        cases.append(f"        {c.name})\n            _arguments -s \\\n                {joined} ;;")
    robots = next((x.words for c in commands for x in c.positional if x.words and x.files), ())
    return _filled(_ZSH, COMMANDS="\n".join(listed), CASES="\n".join(cases), ROBOTS=" ".join(robots))


def _zsh_option(x: Argument) -> Iterator[str]:
    for flag in x.flags:
        value = f":value:{_zsh_value(x)}" if x.takes else ""
        yield _quoted(f"*{flag}[{_zsh_text(x.help)}]{value}")


def _zsh_value(x: Argument) -> str:
    if x.files:
        return "_ordern_robots" if x.words else "_files"
    return f"({' '.join(x.words)})" if x.words else " "


def _zsh_text(text: str) -> str:
    return "".join(f"\\{x}" if x in "[]:\\" else x for x in text)


# fish ----------------------------------------------------------------------------------------------------------------


def _fish(commands: Sequence[Command]) -> str:
    lines = [
        "# completion of ordern for fish: ordern completion fish > ~/.config/fish/completions/ordern.fish",
        "complete -c ordern -n __fish_use_subcommand -f",
        "complete -c ordern -n __fish_use_subcommand -l version -d 'show the version'",
    ]
    for c in commands:
        lines.append(f"complete -c ordern -n __fish_use_subcommand -a {c.name} -d {_fish_quoted(c.help)}")
    for c in commands:
        start = f"complete -c ordern -n '__fish_seen_subcommand_from {c.name}'"
        if not any(x.files for x in c.positional):
            lines.append(f"{start} -f")
        for x in c.positional:
            if x.words:
                lines.append(f"{start} -a {_fish_quoted(' '.join(x.words))}")
        lines += (f"{start} {_fish_option(x)}" for x in c.options)
    return "\n".join(lines)


def _fish_option(x: Argument) -> str:
    flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in x.flags)
    value = ("-r" if x.files else "-x") if x.takes else ""
    words = f"-a {_fish_quoted(' '.join(x.words))}" if x.words else ""
    return " ".join(part for part in (flags, value, words, f"-d {_fish_quoted(x.help)}") if part)


# all -----------------------------------------------------------------------------------------------------------------


def _filled(template: str, **parts: str) -> str:
    for name, text in parts.items():
        template = template.replace(f"@{name}@", text)
    return template


def _quoted(text: str) -> str:
    """Return a text in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""The script of each shell."""
