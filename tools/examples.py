#!/usr/bin/python3
"""Examples of the API's operations: tells the stories of tests/openapi/stories on a server of BUILD, and writes what was sent and answered.

  examples.py BUILD [STORY ...]            tells whose examples are no longer as the files say
  examples.py BUILD --write [STORY ...]    writes modules/MODULE/examples.json and kernel/http/examples.json

After --write the build embeds them: meson setup --reconfigure BUILD (for a new file), ninja -C BUILD.
"""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ["BUILD"] = sys.argv[1]
    sys.path.insert(0, str(ROOT / "tests" / "openapi"))
    import stories
    asked = [word for word in sys.argv[2:] if word != "--write"] or stories.names()
    server, changed = stories.server(), False
    try:
        for name in asked:
            path, told = stories.file_of(name), stories.tell(server, name)
            before = stories.kept(path)
            others = {o: e for o, e in before.items() if o not in told and path.parent.name == "http" and o in stories.Document(server).operations}
            text = json.dumps(dict(sorted({**others, **told}.items())), indent=2, ensure_ascii=False) + "\n"
            same = json.dumps(dict(sorted(before.items())), indent=2, ensure_ascii=False) + "\n" == text
            changed |= not same
            print(f"{name}: {len(told)} examples, {'as before' if same else 'changed'}")
            if "--write" in sys.argv and not same:
                path.write_text(text, encoding="utf-8")
    finally:
        server.stop()
    sys.exit(1 if changed and "--write" not in sys.argv else 0)


if __name__ == "__main__":
    main()
