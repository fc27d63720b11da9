"""Scripts that make a shell complete commands, options and choices."""

import argparse
from collections.abc import Iterator
from typing import Final, NamedTuple


class Word(NamedTuple):
    """What may stand next: a command, an option or a choice; with one line about it."""

    text: str
    about: str


class Place(NamedTuple):
    """A command, as the words that name it: what may stand after it, and the choices of its options."""

    path: tuple[str, ...]
    commands: list[Word]
    options: list[Word]
    choices: dict[str, list[str]]
    takes_value: list[str]


def places(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Place]:
    """Return every command of a parser, itself first."""
    commands, options, choices, takes_value = list[Word](), list[Word](), dict[str, list[str]](), list[str]()
    below: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to read a parser
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            about = {chosen.dest: chosen.help or "" for chosen in action._get_subactions()}  # noqa: SLF001
            commands += [Word(name, about.get(name, "")) for name in action.choices]
            below += action.choices.items()
        elif action.choices is not None and not action.option_strings:
            commands += [Word(str(choice), "") for choice in action.choices]
        for option in action.option_strings:
            if not option.startswith("--"):
                continue
            about_option = "" if action.help in (None, argparse.SUPPRESS) else str(action.help)
            options.append(Word(option, about_option.replace("%(default)s", str(action.default)).replace("%%", "%")))
            if action.choices is not None:
                choices[option] = [str(choice) for choice in action.choices]
            if action.nargs != 0:
                takes_value.append(option)
    yield Place(path, commands, options, choices, takes_value)
    for name, inner in below:
        yield from places(inner, (*path, name))


_BASH: Final = """\
# Completes `standings`. Load it in this shell: source <(standings completion SHELL)
_standings() {
    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path="" skip="" word words=""
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        if [[ -n $skip ]]; then skip=""; continue; fi
        case "$word" in
            VALUED) skip=1 ;;
            -*) ;;
            *) case "$path $word" in
PATHS) path="$path $word" ;;
            esac ;;
        esac
    done
    case "$path|$previous" in
CHOICES
        *) if [[ -n $skip ]]; then COMPREPLY=(); return; fi
            case "$path" in
WORDS
            esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _standings standings
"""


def bash(parser: argparse.ArgumentParser) -> str:
    """Return the script for bash."""
    every = list(places(parser))
    paths = "|".join(f'" {" ".join(place.path)}"' for place in every if place.path)
    choices = [
        f'        "{_spaced(place)}|{option}") words="{" ".join(values)}" ;;'
        for place in every
        for option, values in place.choices.items()
    ]
    words = [
        f'            "{_spaced(place)}") words="{" ".join(word.text for word in place.commands + place.options)}" ;;'
        for place in every
    ]
    script = _BASH.replace("VALUED", "|".join(sorted({option for place in every for option in place.takes_value})))
    return (script.replace("PATHS", paths).replace("CHOICES\n", "".join(f"{line}\n" for line in choices))).replace(
        "WORDS\n", "".join(f"{line}\n" for line in words)
    )


def zsh(parser: argparse.ArgumentParser) -> str:
    """Return the script for zsh, which can run that of bash."""
    return f"autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n{bash(parser)}"


def fish(parser: argparse.ArgumentParser) -> str:
    """Return the script for fish."""
    lines = ["# Completes `standings`. Load it in this shell: standings completion fish | source"]
    for place in places(parser):
        seen = "".join(f"; and __fish_seen_subcommand_from {name}" for name in place.path).removeprefix("; and ")
        names = " ".join(word.text for word in place.commands)
        none_yet = f"not __fish_seen_subcommand_from {names}" if names else ""
        where = "; and ".join(filter(None, (seen, none_yet)))
        lines += [
            f"complete -c standings -n {_quoted(where)} -f -a {word.text} -d {_quoted(word.about)}"
            for word in place.commands
        ]
        for option in place.options:
            value = f" -x -a {_quoted(' '.join(place.choices[option.text]))}" if option.text in place.choices else ""
            value = value or (" -r" if option.text in place.takes_value else "")
            about = f"-l {option.text.removeprefix('--')}{value} -d {_quoted(option.about)}"
            lines.append(f"complete -c standings{f' -n {_quoted(seen)}' if seen else ''} {about}")
    return "\n".join(lines) + "\n"


def _spaced(place: Place) -> str:
    return "".join(f" {name}" for name in place.path)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
