"""schemas/paper-sizes.json as a C table: paper_sizes.py IN OUT."""
import json
import sys

sizes = json.load(open(sys.argv[1]))
rows = "".join(f'    {{"{s["name"]}", {s["width"]}, {s["height"]}, "{s["pwg"]}"}},\n' for s in sizes)
open(sys.argv[2], "w").write(f"/* made of schemas/paper-sizes.json */\nconst struct medium media[] = {{\n{rows}}};\nconst size_t n_media = {len(sizes)};\n")
