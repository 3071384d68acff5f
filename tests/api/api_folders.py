"""Makes the helpers of the API tests importable by whoever has tests/api on its path: a test may use those of a test in another folder
(`from test_print_jobs import Shop`). No two files below tests/api have one name."""
import pathlib
import sys

sys.path.extend(str(folder) for folder in sorted(pathlib.Path(__file__).resolve().parent.iterdir()) if folder.is_dir() and not folder.name.startswith("__"))
