"""What docs/internals/where.md and the pages beside it say is looked for in the tree; a gate asks (tools/gates.py where)."""
import os
import re

import reference


def sections_that_differ(text):
    """A row and the files that it names give the same sections of the same spec, where both give any."""
    said, problems, folder = dict(reference.files_that_name_specs()), [], ""
    for n, line in enumerate(text("docs/internals/where.md").split("\n"), 1):
        cells = line.split("|")
        for spec, after in re.findall(r"\[spec (\d\d)\]\([^)]*\)([^\[]*)", cells[2]) if len(cells) > 4 else ():
            named = reference.whole_sections(f"spec {spec}{after}", spec)
            for name in re.findall(r"`([\w/.]+\.(?:c|h|sql))`", cells[3]):
                folder = os.path.dirname(name) if "/" in name else folder
                path = name if "/" in name else f"{folder}/{name}"
                told = reference.whole_sections(said.get(path, ""), spec)
                if named and told and not named & told:
                    problems.append(f"docs/internals/where.md:{n}: section {sorted(named)} of spec {spec}, and {path} says {sorted(told)}")
    return problems


def functions_not_found(tracked, text):
    """Functions that pages for contributors name and no source has; in a row of where.md, no file of that row."""
    sources, problems = {f: text(f) for f in tracked("*.c", "*.cc", "*.h", "*.sql", "*.py", "*.lua", "*.js")}, []
    for f in tracked("docs/internals/*.md", "docs/architecture.md"):
        for n, line in enumerate(text(f).split("\n"), 1):
            ends = tuple(re.findall(r"`([\w/.]+\.(?:cc?|h|sql|py|lua|js))`", line)) if f.endswith("/where.md") else ()
            said = "\n".join(s for path, s in sources.items() if not ends or f"/{path}".endswith(tuple(f"/{e}" for e in ends)))
            problems += [f"{f}:{n}: no source named here has {name}()" for name in re.findall(r"`(\w+)\(\)`", line) if not re.search(rf"\b{name}\b", said)]
    return problems


def functions_elsewhere(tracked, text):
    """Functions and numbers of which where.md says "in `file`" and that no file of that name has."""
    sources, problems = tracked("*.c", "*.cc", "*.h", "*.sql", "*.py"), []
    for n, line in enumerate(text("docs/internals/where.md").split("\n"), 1):
        for names, file in re.findall(r"((?:`\w+(?:\(\))?`(?:,? and |, |,? ))*`\w+(?:\(\))?`) in `([\w/.-]+\.(?:c|h|cc|sql|py))`", line):
            said = "\n".join(text(f) for f in sources if f"/{f}".endswith(f"/{file}"))
            problems += [f"docs/internals/where.md:{n}: {file} has no {name}" for name in re.findall(r"`(\w+)", names) if not re.search(rf"\b{name}\b", said)]
    return problems


def problems(tracked, text):
    """tracked, text: the files of the tree that fit patterns; what one says."""
    return sections_that_differ(text) + functions_not_found(tracked, text) + functions_elsewhere(tracked, text)
