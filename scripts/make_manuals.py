"""make_manuals.py PROGRAM FOLDER - manual pages and shell completions of every command, from the program's own help.

`vargate help COMMAND` prints the option tables of the command, so that pages and completions cannot differ from what
the program accepts. Writes FOLDER/man/vargate.1 and vargate-COMMAND.1, FOLDER/completions/vargate.bash, _vargate (zsh)
and vargate.fish. Needs only Python's standard library.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Option:
    """One line of an option table."""

    letter: str
    name: str
    value: str  # "" for a flag
    help: str

    def choices(self) -> list[str]:
        """The words of a value such as auto|cpu|cuda; none where a part is a placeholder."""
        words = self.value.split("|")
        return words if len(words) > 1 and all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", w) for w in words) else []


@dataclass
class Command:
    """What the help of a command says."""

    name: str
    summary: str = ""
    usage: str = ""
    details: list[str] = field(default_factory=list)
    groups: list[tuple[str, list[Option]]] = field(default_factory=list)
    example: str = ""

    def options(self) -> list[Option]:
        return [option for _, group in self.groups for option in group]


def shown(program: str, *arguments: str) -> list[str]:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([program, *arguments], capture_output=True, text=True, env=environment, check=True)
    return done.stdout.splitlines()


OPTION = re.compile(r"^  (?:-(\w), |    )--([a-z][a-z-]*)(?: (\S(?:.*?\S)?))?(?:  +(\S.*))?$")


def read_command(program: str, name: str) -> Command:
    """Reads `vargate help NAME`: title, usage, paragraphs, groups of options, example."""
    lines = shown(program, "help", name)
    command = Command(name, lines[0].split(" - ", 1)[1], lines[2].removeprefix("Usage: "))
    place = "details"
    for line in lines[3:]:
        if line == "Example:":
            place = "example"
        elif re.fullmatch(r"[A-Z][^:]*:", line) and place != "example":
            place = "options"
            command.groups.append((line[:-1], []))
        elif place == "details":
            command.details.append(line)
        elif place == "example":
            command.example = f"{command.example}\n{line.strip()}".strip()
        elif found := OPTION.match(line):
            letter, long, value, text = found.groups()
            command.groups[-1][1].append(Option(letter or "", long, value or "", text or ""))
        elif line.strip():
            option = command.groups[-1][1][-1]
            option.help = f"{option.help} {line.strip()}".strip()
    return command


def read_program(program: str) -> tuple[str, list[Command]]:
    """The version and every command."""
    version = shown(program, "--version")[0].split()[1]
    names, on = [], False
    for line in shown(program, "--help"):
        if line == "Commands:":
            on = True
        elif on and not line.strip():
            break
        elif on:
            names.append(line.split()[0])
    return version, [read_command(program, name) for name in names if name != "help"]


# --- manual pages


def roff(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def command_page(command: Command, version: str) -> str:
    arguments = command.usage.removeprefix(f"vargate {command.name}").strip()
    out = [
        f'.TH VARGATE\\-{roff(command.name.upper())} 1 "" "vargate {version}" "User Commands"',
        f".SH NAME\nvargate\\-{command.name} \\- {roff(command.summary)}",
        f".SH SYNOPSIS\n.B vargate {command.name}\n{roff(arguments)}",
    ]
    details = "\n".join(command.details).strip()
    if details:
        out.append(".SH DESCRIPTION\n" + roff(details).replace("\n\n", "\n.PP\n"))
    for title, options in command.groups:
        out.append(f".SH {roff(title.upper())}")
        for o in options:
            short = f"\\fB\\-{o.letter}\\fR, " if o.letter else ""
            value = f" \\fI{roff(o.value)}\\fR" if o.value else ""
            out.append(f".TP\n{short}\\fB\\-\\-{roff(o.name)}\\fR{value}\n{roff(o.help)}")
    out.append(".SH EXAMPLE\n.nf\n" + roff(command.example) + "\n.fi")
    out.append(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.\n.SH SEE ALSO\n.BR vargate (1)")
    return "\n".join(out) + "\n"


def overview_page(commands: list[Command], version: str) -> str:
    out = [
        f'.TH VARGATE 1 "" "vargate {version}" "User Commands"',
        ".SH NAME\nvargate \\- uncertainty of ensemble classifiers, gated by variance",
        ".SH SYNOPSIS\n.B vargate\n.I COMMAND\n[options] [files]",
        ".SH COMMANDS",
    ]
    out += [f".TP\n\\fBvargate\\-{c.name}\\fR(1)\n{roff(c.summary)}" for c in commands]
    out.append(
        ".SH ENVIRONMENT\n.TP\n.B VARGATE_CPU\na lower vector tier: portable, neon, avx2, avx512\n"
        ".TP\n.B VARGATE_DATA\nfolder that is searched for data sets\n"
        ".TP\n.B NO_COLOR\nno colours in tables and messages"
    )
    out.append(".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage.")
    return "\n".join(out) + "\n"


# --- completions


def bash_completion(commands: list[Command]) -> str:
    words = " ".join(c.name for c in commands)
    cases, choices = [], {}
    for c in commands:
        cases.append(f"    {c.name}) options='{' '.join('--' + o.name for o in c.options())}' ;;")
        choices.update({o.name: o.choices() for o in c.options() if o.choices()})
    values = [
        f"    --{n}) COMPREPLY=($(compgen -W '{' '.join(w)}' -- \"$word\")) && return ;;" for n, w in choices.items()
    ]
    return f"""# bash completion of vargate, made by scripts/make_manuals.py
_vargate() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} options=
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{words} help --help --version' -- "$word"))
        return
    fi
    case $before in
{chr(10).join(values)}
    esac
    case ${{COMP_WORDS[1]}} in
    help) options='{words}' ;;
{chr(10).join(cases)}
    esac
    case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) [ "${{COMP_WORDS[1]}}" = help ] && COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    esac
}}
complete -o default -F _vargate vargate
"""


def zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:'\\])", "", text)


def zsh_completion(commands: list[Command]) -> str:
    names = " ".join(f"'{c.name}:{zsh_text(c.summary)}'" for c in commands)
    cases = []
    for c in commands:
        rows = []
        for o in c.options():
            value = f":{zsh_text(o.value)}:({' '.join(o.choices())})" if o.choices() else f":{zsh_text(o.value)}:_files"
            tail = f"[{zsh_text(o.help)[:70]}]{value if o.value else ''}"
            rows.append(f"'--{o.name}{'=' if o.value else ''}{tail}'")
            if o.letter:
                rows.append(f"'-{o.letter}{tail}'")
        cases.append(f"    {c.name}) _arguments {' '.join(rows)} '*:file:_files' ;;")
    return f"""#compdef vargate
# zsh completion of vargate, made by scripts/make_manuals.py
_vargate() {{
    local -a commands
    commands=({names} 'help:show the options of a command')
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local name=$words[2]
    shift words
    (( CURRENT-- ))
    case $name in
    help) _describe command commands ;;
{chr(10).join(cases)}
    esac
}}
_vargate "$@"
"""


def fish_completion(commands: list[Command]) -> str:
    def quote(text: str) -> str:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    out = ["# fish completion of vargate, made by scripts/make_manuals.py"]
    for c in commands:
        out.append(f"complete -c vargate -f -n __fish_use_subcommand -a {c.name} -d {quote(c.summary)}")
    for c in commands:
        for o in c.options():
            line = f"complete -c vargate -n '__fish_seen_subcommand_from {c.name}' -l {o.name}"
            line += f" -s {o.letter}" if o.letter else ""
            line += f" -x -a {quote(' '.join(o.choices()))}" if o.choices() else " -r" if o.value else ""
            out.append(f"{line} -d {quote(o.help[:70])}")
    return "\n".join(out) + "\n"


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: make_manuals.py PROGRAM FOLDER")
    program, folder = sys.argv[1], Path(sys.argv[2])
    version, commands = read_program(program)
    files = {f"man/vargate-{c.name}.1": command_page(c, version) for c in commands}
    files["man/vargate.1"] = overview_page(commands, version)
    files["completions/vargate.bash"] = bash_completion(commands)
    files["completions/_vargate"] = zsh_completion(commands)
    files["completions/vargate.fish"] = fish_completion(commands)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
